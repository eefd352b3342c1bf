// Command house measures how large the project is and how it is laid out, one line for each figure,
// and exits 1 where one misses its goal. It counts the Go files of all modules that are not tests.
package main

import (
	"flag"
	"fmt"
	"os"
)

// A figure is a number that must be within a goal.
type figure struct {
	name  string
	value float64
	unit  string
	goal  float64
	least bool   // the goal is a minimum
	where string // what has it
}

func (f figure) met() bool {
	if f.least {
		return f.value >= f.goal
	}
	return f.value <= f.goal
}

func (f figure) String() string {
	relation, verdict := "<=", "met"
	if f.least {
		relation = ">="
	}
	if !f.met() {
		verdict = "MISSED"
	}
	text := fmt.Sprintf("house %-28s %8.6g %s, goal %s %.6g: %s", f.name, f.value, f.unit, relation, f.goal, verdict)
	if f.where != "" {
		text += " (" + f.where + ")"
	}
	return text
}

func main() {
	root := flag.String("root", "..", "folder of the root module")
	flag.Parse()
	h, err := readHouse(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(2)
	}
	all := h.figures()
	upward, err := upwardFigure(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(2)
	}
	missed := 0
	for _, f := range append(all, upward) {
		fmt.Println(f)
		if !f.met() {
			missed++
		}
	}
	if missed > 0 {
		fmt.Printf("house: goals missed: %d\n", missed)
		os.Exit(1)
	}
}
