#include "go_asm.h"
#include "textflag.h"

// How often a page is read that changes meanwhile.
#define tries 8

// DMB $0x9 is DMB ISHLD: loads before it are done before any load after it. Between a thread
// and interrupts on its own CPU the order of the program would do; the barriers make it a
// sequence lock for any writer.

// func readPages(pages *[MaxEvents]*userPage, n int, samples *[MaxEvents]sample) int
TEXT ·readPages(SB), NOSPLIT, $0-32
	MOVD pages+0(FP), R0
	MOVD n+8(FP), R1
	MOVD samples+16(FP), R2
	ADR  counters, R10

page:
	MOVD (R0), R3
	MOVD $tries, R4

try:
	MOVWU userPage_lock(R3), R5
	DMB   $0x9
	MOVWU userPage_index(R3), R6
	MOVD  userPage_offset(R3), R7
	MOVD  userPage_capabilities(R3), R8
	MOVHU userPage_width(R3), R9
	TBNZ  $0, R5, again
	TBZ   $const_capUserRDPMC, R8, unreadable
	SUBW  $1, R6, R8
	CMPW  $32, R8
	BHS   unreadable
	ADD   R8<<3, R10, R8
	JMP   (R8)

check:
	DMB   $0x9
	MOVWU userPage_lock(R3), R12
	CMPW  R5, R12
	BNE   again
	MOVD  R11, sample_counter(R2)
	MOVD  R7, sample_offset(R2)
	MOVD  R9, sample_width(R2)
	CBZW  R6, done
	ADD   $8, R0
	ADD   $sample__size, R2
	SUBS  $1, R1
	BNE   page

done:
	MOVD n+8(FP), R0
	SUB  R1, R0
	MOVD R0, ret+24(FP)
	RET

unreadable:
	MOVD ZR, R11
	MOVD ZR, R6
	B    check

again:
	SUBW $1, R4
	CBNZ R4, try
	B    done

// A register's number is part of the instruction; each entry is two instructions long.
counters:
	MRS PMEVCNTR0_EL0, R11
	B   check
	MRS PMEVCNTR1_EL0, R11
	B   check
	MRS PMEVCNTR2_EL0, R11
	B   check
	MRS PMEVCNTR3_EL0, R11
	B   check
	MRS PMEVCNTR4_EL0, R11
	B   check
	MRS PMEVCNTR5_EL0, R11
	B   check
	MRS PMEVCNTR6_EL0, R11
	B   check
	MRS PMEVCNTR7_EL0, R11
	B   check
	MRS PMEVCNTR8_EL0, R11
	B   check
	MRS PMEVCNTR9_EL0, R11
	B   check
	MRS PMEVCNTR10_EL0, R11
	B   check
	MRS PMEVCNTR11_EL0, R11
	B   check
	MRS PMEVCNTR12_EL0, R11
	B   check
	MRS PMEVCNTR13_EL0, R11
	B   check
	MRS PMEVCNTR14_EL0, R11
	B   check
	MRS PMEVCNTR15_EL0, R11
	B   check
	MRS PMEVCNTR16_EL0, R11
	B   check
	MRS PMEVCNTR17_EL0, R11
	B   check
	MRS PMEVCNTR18_EL0, R11
	B   check
	MRS PMEVCNTR19_EL0, R11
	B   check
	MRS PMEVCNTR20_EL0, R11
	B   check
	MRS PMEVCNTR21_EL0, R11
	B   check
	MRS PMEVCNTR22_EL0, R11
	B   check
	MRS PMEVCNTR23_EL0, R11
	B   check
	MRS PMEVCNTR24_EL0, R11
	B   check
	MRS PMEVCNTR25_EL0, R11
	B   check
	MRS PMEVCNTR26_EL0, R11
	B   check
	MRS PMEVCNTR27_EL0, R11
	B   check
	MRS PMEVCNTR28_EL0, R11
	B   check
	MRS PMEVCNTR29_EL0, R11
	B   check
	MRS PMEVCNTR30_EL0, R11
	B   check
	MRS PMCCNTR_EL0, R11
	B   check
