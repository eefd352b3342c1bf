// Package mcp serves tools to agents by the Model Context Protocol, over standard input and output
// and over HTTP: both generations of it, that with a handshake (2025-11-25 and 2025-06-18) and that
// without (2026-07-28). The server keeps nothing between two requests, and sends nothing
// unasked: no sessions, no streams, no prompts, no resources.
//
// It is made by hand since every service that serves the viewer compiles it, and the protocol
// without a session is JSON-RPC 2.0 with five methods; the official SDK would bring seven modules.
// Its client is what tests hold it against.
//
// Tools answer with text alone. Where an answer has structured content too, some clients hand that
// to the model and drop the text.
package mcp
