#include "textflag.h"

// func adds(n uint64)
//
// The addend is in a register: some CPUs add constants while they rename registers, in no time.
TEXT ·adds(SB), NOSPLIT, $0-8
	MOVQ n+0(FP), AX
	MOVQ $1, CX
	XORQ DX, DX

round:
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	ADDQ CX, DX
	DECQ AX
	JNZ  round
	RET

// func branches(n, seed uint64) uint64
TEXT ·branches(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), AX
	MOVQ seed+8(FP), CX
	XORQ DX, DX

round:
	// xorshift
	MOVQ CX, BX
	SHLQ $13, BX
	XORQ BX, CX
	MOVQ CX, BX
	SHRQ $7, BX
	XORQ BX, CX
	MOVQ CX, BX
	SHLQ $17, BX
	XORQ BX, CX
	BTQ  $40, CX
	JCC  clear
	INCQ DX

clear:
	DECQ AX
	JNZ  round
	MOVQ DX, ret+16(FP)
	RET
