#include "textflag.h"

// func Spin(n uint64)
TEXT ·Spin(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), AX

loop:
	DECQ AX
	JNZ  loop
	RET
