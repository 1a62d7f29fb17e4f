// Package document turns a file into text, page by page: plain text, Markdown, HTML, CSV, DOCX and PDF.
//
// The formats are parsed by other people's code, on files that anyone may have made, so a parser may hang, grow
// without bound, or crash. A [Parser] therefore parses in a process of its own, which this program starts again from
// its own binary ([ServeChild]) with no more than the file on its input. It is killed after [Limits.Time], ends
// itself above [Limits.Memory], and gives back at most [Limits.Text] bytes.
//
// The package knows nothing of stores and notes.
package document
