#include "textflag.h"

// func Spin(n uint64)
TEXT ·Spin(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0

loop:
	SUB  $1, R0
	CBNZ R0, loop
	RET
