#include "go_asm.h"
#include "textflag.h"

// How often a page is read that changes meanwhile.
#define tries 8

// Loads are not reordered with each other (TSO), so that nothing is needed between them.
// RDPMC waits for nobody and may run early, but what has not retired when an interrupt comes
// is thrown away: the counter is of the same spell as both reads of the lock.

// func readPages(pages *[MaxEvents]*userPage, n int, samples *[MaxEvents]sample) int
TEXT ·readPages(SB), NOSPLIT, $0-32
	MOVQ pages+0(FP), SI
	MOVQ n+8(FP), R13
	MOVQ samples+16(FP), DI

page:
	MOVQ (SI), BX
	MOVL $tries, R8

try:
	MOVL    userPage_lock(BX), R9
	MOVL    userPage_index(BX), CX
	MOVQ    userPage_offset(BX), R10
	MOVQ    userPage_capabilities(BX), R11
	MOVWLZX userPage_width(BX), R12
	TESTL   $1, R9
	JNZ     again
	BTQ     $const_capUserRDPMC, R11
	JCC     unreadable
	DECL    CX
	JS      unreadable
	RDPMC
	SHLQ    $32, DX
	ORQ     DX, AX

check:
	CMPL R9, userPage_lock(BX)
	JNE  again
	MOVQ AX, sample_counter(DI)
	MOVQ R10, sample_offset(DI)
	MOVQ R12, sample_width(DI)

	TESTL CX, CX
	JS    done
	ADDQ  $8, SI
	ADDQ  $sample__size, DI
	DECQ  R13
	JNZ   page

done:
	MOVQ n+8(FP), AX
	SUBQ R13, AX
	MOVQ AX, ret+24(FP)
	RET

unreadable:
	XORL AX, AX
	MOVL $-1, CX
	JMP  check

again:
	DECL R8
	JNZ  try
	JMP  done
