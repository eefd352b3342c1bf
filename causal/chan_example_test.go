package causal_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otelprof/otelprof/causal"
)

func ExampleChan() {
	jobs := causal.NewChan[string](10) // make(chan string, 10)
	jobs.Send("wash")                  // jobs <- "wash"
	jobs.Send("dry")
	jobs.Close()                  // close(jobs)
	for job := range jobs.All() { // range jobs
		fmt.Println(job)
	}
	// Output:
	// wash
	// dry
}

// A select statement has the cases that it would have with a channel.
func ExampleChan_Receiving() {
	jobs := causal.NewChan[string](1)
	jobs.Send("wash")
	jobs.Close()
	for {
		select {
		case it := <-jobs.Receiving():
			job, ok := jobs.Received(it)
			if !ok {
				fmt.Println("no more jobs")
				return
			}
			fmt.Println(job)
		case <-time.After(time.Minute):
			fmt.Println("bored")
			return
		}
	}
	// Output:
	// wash
	// no more jobs
}

func ExampleChan_Sending() {
	results := causal.NewChan[int](1)
	for i := range 2 {
		it := results.Item(i)
		select {
		case results.Sending() <- it:
			results.Sent(it)
			fmt.Println("sent", i)
		case <-time.After(time.Millisecond):
			fmt.Println("nobody wants", i)
		}
	}
	// Output:
	// sent 0
	// nobody wants 1
}

// For a context no select statement is needed.
func ExampleChan_ReceiveContext() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	jobs := causal.NewChan[string](0)
	_, _, err := jobs.ReceiveContext(ctx)
	fmt.Println(err)
	// Output: context deadline exceeded
}
