// Package tools answers questions about a service in text that fits into an agent's context: what
// matters most, why a region is slow, what a request did, what would be if. Each tool is in the
// command line too, by the same functions.
//
// What is known comes from a viewer by its JSON API: that of a running process, or of saved data.
// An answer has at most 4,500 bytes, some 1,500 tokens. What does not fit is left out from the end,
// where the least matters, and how much that is stands below.
package tools
