package otelhdr

import (
	"strings"
	"unicode/utf8"
)

// A table is written as Markdown, with its columns aligned so that it reads as well as plain text.
type table struct {
	right []bool // columns aligned to the right
	rows  [][]string
}

// add appends a row; cells that are missing are empty.
func (t *table) add(cells ...string) {
	row := make([]string, len(t.right))
	copy(row, cells)
	t.rows = append(t.rows, row)
}

// append writes the table to dst. The first row is the header.
func (t *table) append(dst []byte) []byte {
	widths := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	for r, row := range t.rows {
		for i, cell := range row {
			dst = append(dst, "| "...)
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.right[i] {
				dst = append(dst, pad...)
			}
			dst = append(dst, cell...)
			if !t.right[i] {
				dst = append(dst, pad...)
			}
			dst = append(dst, ' ')
		}
		dst = append(dst, "|\n"...)
		if r == 0 {
			dst = t.appendRule(dst, widths)
		}
	}
	return dst
}

// appendRule writes the line below the header, which says how the columns are aligned.
func (t *table) appendRule(dst []byte, widths []int) []byte {
	for i, w := range widths {
		dashes := strings.Repeat("-", w-1)
		if t.right[i] {
			dst = append(dst, "| "+dashes+": "...)
		} else {
			dst = append(dst, "| :"+dashes+" "...)
		}
	}
	return append(dst, "|\n"...)
}

// appendTitle writes a heading, or nothing if title is empty.
func appendTitle(dst []byte, title string) []byte {
	if title == "" {
		return dst
	}
	dst = append(dst, "##### "...)
	dst = append(dst, title...)
	return append(dst, '\n')
}
