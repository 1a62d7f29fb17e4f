// Package transfer reads the histories that people have elsewhere, and returns them as the lines that an import takes: messages
// and notes.
//
// A [Source] is a file, a zip or a folder. [Open] recognizes its format; each format is one translator in a file of its own, which
// reads and writes nothing else. A translator first lists the pieces of its source (a conversation, a day of a chat, a file) with
// their times, then it reads them in the order that the caller wants. So a source of any size needs the memory of its largest
// conversation, and the newest one can be first.
//
// What is not recognized is refused; it is never read as a text. The package knows neither HTTP nor stores: the command line and
// the gateway both call it.
package transfer
