package spans

import (
	"context"
	"reflect"
	"sync"
	"time"
	"unsafe"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The SDK's span takes its lock for each of its two times, which is some two fifths of what the reading costs. Neither needs it where we
// ask: the start never changes, and the end is written once, by or before the call of End that this goroutine has just come back
// from, which takes the lock itself. So both are read from where they are. That is no part of what the SDK promises: learnTimes looks
// for the fields by name and type and tries them out, and elsewhere the methods are asked.

// sdkTimes is where the times of the SDK's spans are. A nil sdkTimes asks the methods.
type sdkTimes struct {
	of         unsafe.Pointer // the first word of an interface that has such a span
	start, end uintptr
}

var learnTimes = sync.OnceValue(func() *sdkTimes {
	from, to := time.Unix(1, 2), time.Unix(3, 4)
	_, span := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample())).Tracer("").
		Start(context.Background(), "", trace.WithTimestamp(from))
	recording, ok := span.(sdktrace.ReadWriteSpan)
	span.End(trace.WithTimestamp(to))
	if !ok {
		return nil
	}
	t := reflect.TypeOf(recording)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil
	}
	start, startOK := t.Elem().FieldByName("startTime")
	end, endOK := t.Elem().FieldByName("endTime")
	isTime := reflect.TypeFor[time.Time]()
	if !startOK || !endOK || start.Type != isTime || end.Type != isTime || len(start.Index) != 1 || len(end.Index) != 1 {
		return nil
	}
	of, _ := wordsOf(recording)
	times := &sdkTimes{of: of, start: start.Offset, end: end.Offset}
	if !times.startOf(recording).Equal(from) || !times.endOf(recording).Equal(to) {
		return nil
	}
	return times
})

// wordsOf returns what an interface consists of: something that goes by its type and that of the value, and the value's address. Each
// is read by itself: both are just being written, and processors make a load that spans two stores wait until both are in the cache.
func wordsOf(span sdktrace.ReadWriteSpan) (of, value unsafe.Pointer) {
	words := (*[2]unsafe.Pointer)(unsafe.Pointer(&span))
	return words[0], words[1]
}

// startOf returns when a span began.
func (t *sdkTimes) startOf(span sdktrace.ReadWriteSpan) time.Time {
	if of, value := wordsOf(span); t != nil && of == t.of {
		return *(*time.Time)(unsafe.Add(value, t.start))
	}
	return span.StartTime()
}

// endOf returns when a span ended, of one whose End this goroutine has called.
func (t *sdkTimes) endOf(span sdktrace.ReadWriteSpan) time.Time {
	if of, value := wordsOf(span); t != nil && of == t.of {
		return *(*time.Time)(unsafe.Add(value, t.end))
	}
	return span.EndTime()
}
