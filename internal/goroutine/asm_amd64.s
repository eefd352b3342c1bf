#include "textflag.h"

// func word(offset uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-16
	MOVQ TLS, CX
	MOVQ 0(CX)(TLS*1), AX
	MOVQ offset+0(FP), DX
	MOVQ (AX)(DX*1), AX
	MOVQ AX, ret+8(FP)
	RET
