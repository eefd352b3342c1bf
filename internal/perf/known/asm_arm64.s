#include "textflag.h"

// func adds(n uint64)
TEXT ·adds(SB), NOSPLIT, $0-8
	MOVD n+0(FP), R0
	MOVD $1, R1
	MOVD ZR, R2

round:
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	ADD  R1, R2, R2
	SUB  $1, R0
	CBNZ R0, round
	RET

// func branches(n, seed uint64) uint64
TEXT ·branches(SB), NOSPLIT, $0-24
	MOVD n+0(FP), R0
	MOVD seed+8(FP), R1
	MOVD ZR, R2

round:
	// xorshift
	EOR R1<<13, R1, R1
	EOR R1>>7, R1, R1
	EOR R1<<17, R1, R1
	TBZ $40, R1, clear
	ADD $1, R2

clear:
	SUB  $1, R0
	CBNZ R0, round
	MOVD R2, ret+16(FP)
	RET
