package mark

import (
	"context"
	enc "encoding/hex"
	"runtime/trace"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"
	"unsafe"
)

// longest is how long a message can be.
const longest = len(startMark) + 4*(16+1) + (1 + 32) + MaxName

// buffers are for categories and messages that are put together. The runtime has copied them when
// Log returns.
var buffers = sync.Pool{New: func() any { return new([longest]byte) }}

// wanted is how many calls of Want have not been released.
var wanted atomic.Int32

// Want has marks written into each trace that is on, the program's own ones included, until release
// is called.
func Want() (release func()) {
	wanted.Add(1)
	return sync.OnceFunc(func() { wanted.Add(-1) })
}

// Enabled reports whether marks are to be written: a trace is on, and they are wanted. It is one
// atomic load while no trace is on, two otherwise.
func Enabled() bool { return trace.IsEnabled() && wanted.Load() > 0 }

// LogStart writes the start of a span of this scope.
func LogStart(scope string, s Span) {
	buffer := buffers.Get().(*[longest]byte)
	text := append(buffer[:0], startMark...)
	text = append(strconv.AppendUint(text, s.ID, 16), ' ')
	text = append(strconv.AppendUint(text, s.Parent, 16), ' ')
	text = strconv.AppendUint(text, s.SpanID, 16)
	if s.Trace != [16]byte{} {
		text = enc.AppendEncode(append(text, '-'), s.Trace[:])
	}
	text = append(text, ' ')
	text = append(strconv.AppendUint(text, s.Remote, 16), ' ')
	text = append(text, Cut(s.Name)...)
	log(context.Background(), scope, text)
	buffers.Put(buffer)
}

// LogEnd writes the end of a span. The name is empty unless it is another than at the start.
func LogEnd(scope string, id uint64, name string) {
	if name == "" && carries {
		c := carriers.Get().(*carrier)
		c.carry(id)
		trace.Log(c, endMark, "")
		carriers.Put(c)
		return
	}
	buffer := buffers.Get().(*[longest]byte)
	text := append(buffer[:0], endMark...)
	text = strconv.AppendUint(text, id, 16)
	if name != "" {
		text = append(append(text, ' '), Cut(name)...)
	}
	log(context.Background(), scope, text)
	buffers.Put(buffer)
}

// LogProgress writes a visit of a progress point.
func LogProgress(name string) {
	buffer := buffers.Get().(*[longest]byte)
	text := append(buffer[:0], progressMark...)
	text = append(text, Cut(name)...)
	trace.Log(context.Background(), unsafe.String(&text[0], len(text)), "")
	buffers.Put(buffer)
}

// Cut returns as much of a name as a mark has room for, in whole letters.
func Cut(name string) string {
	if len(name) <= MaxName {
		return name
	}
	end := MaxName
	for end > MaxName-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// log writes a message of at least one byte.
func log(ctx context.Context, category string, message []byte) {
	trace.Log(ctx, category, unsafe.String(&message[0], len(message)))
}
