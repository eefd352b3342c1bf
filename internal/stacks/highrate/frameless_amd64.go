package highrate

import (
	"encoding/binary"
	"runtime"
	"unsafe"
)

// The beginning of a Go function that has a frame, behind the check for room on the stack:
//
//	55        PUSHQ BP
//	48 89 e5  MOVQ  SP, BP
const (
	pushBP     = 0x55
	setBP      = 0xe5894855 // with the push
	setBPBytes = 4
	ret        = 0xc3
	// maxCheck is more than the longest check takes.
	maxCheck = 64
)

// returnWord finds which word at the top of the stack is the return address of the function that is
// at pc, if there it has no frame of its own: it may never have one, since it calls nothing, not
// have set it up yet, or have given it up. Then the frame pointer is the caller's, and leads past
// the place of the call. It returns noWord where the frame pointer is the function's.
func returnWord(pc uint64) word {
	f := runtime.FuncForPC(uintptr(pc))
	if f == nil {
		return noWord
	}
	entry := uint64(f.Entry())
	if pc < entry {
		return noWord
	}
	// The code of a running function, and no byte behind the instruction it is at.
	code := unsafe.Slice((*byte)(textPointer(entry)), pc-entry+1)
	at := len(code) - 1
	if code[at] == ret {
		return firstWord
	}
	check := code[:min(at, maxCheck)]
	for i := 0; i+setBPBytes <= len(check); i++ {
		if binary.LittleEndian.Uint32(check[i:]) == setBP {
			return noWord
		}
	}
	if at > 0 && code[at-1] == pushBP && code[at] == setBP>>8&0xff {
		return secondWord // between the two instructions
	}
	return firstWord
}

// textPointer makes a pointer of the address of code, which never moves and is never freed.
func textPointer(address uint64) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}
