package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestTicksAreRound(t *testing.T) {
	for _, a := range []Axis{{Lo: 0, Hi: 1}, {Lo: 0, Hi: 0.05}, {Lo: -3, Hi: 17}, {Lo: 0, Hi: 6.1e9}, {Lo: 0.1, Hi: 0.5}, {Lo: -0.3, Hi: 99}, {Lo: -1, Hi: 1e-3}} {
		ticks := a.Ticks()
		if len(ticks) < 4 || len(ticks) > 11 {
			t.Errorf("%+v has %d ticks, want 4 to 11: %v", a, len(ticks), ticks)
		}
		for _, v := range ticks {
			if slack := (a.Hi - a.Lo) / 1e6; v < a.Lo-slack || v > a.Hi+slack {
				t.Errorf("%+v has a tick at %v", a, v)
			}
		}
		step := ticks[1] - ticks[0]
		if mantissa := step / math.Pow(10, math.Floor(math.Log10(step*1.0001))); math.Abs(mantissa-1) > 1e-6 && math.Abs(mantissa-2) > 1e-6 && math.Abs(mantissa-5) > 1e-6 {
			t.Errorf("%+v has steps of %v, want 1, 2 or 5 of a power of ten", a, step)
		}
	}
}

func TestAxis(t *testing.T) {
	a := Axis{Lo: 0, Hi: 1, From: 100, To: 0}
	a.Include(-1)
	a.Include(0.5)
	for v, want := range map[float64]float64{-1: 100, 0: 50, 1: 0} {
		if got := a.At(v); got != want {
			t.Errorf("At(%v) = %v, want %v", v, got, want)
		}
	}
}

// Names of spans and files may have anything in them.
func TestPictureIsXML(t *testing.T) {
	const text = `GET </text> & "x"` + "\x00\xff"
	var p Picture
	p.Open(10, 20, text)
	p.Text(1, 2, "end", Ink, text)
	p.Line(0, 0, 1, 1, Grid)
	p.Close()
	d := xml.NewDecoder(strings.NewReader(p.String()))
	found := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, p.String())
		}
		if c, ok := token.(xml.CharData); ok && strings.HasPrefix(string(c), `GET </text> & "x"`) {
			found++
		}
	}
	if found != 2 {
		t.Errorf("found the text %d times, want twice: %s", found, p.String())
	}
}
