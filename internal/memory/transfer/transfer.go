package transfer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Options are what a caller knows and a source does not.
type Options struct {
	Format string // "": the source is recognized
	Me     string // the name of the person whose memory it becomes; "": not known
	// OnePerson is set for a memory of one person: what others say has the role of an assistant.
	OnePerson bool
	Zone      *time.Location // of times that have none; nil: UTC
	Since     time.Time      // what happened before is left out; zero: nothing is
	Dates     string         // order of the parts of a date, such as DMY; "": the whole file decides
	Newest    bool           // the newest conversation comes first, not the oldest
	Now       time.Time      // what is later has no date that can be right; zero: the present
}

// piece is a part of a source that is read in one piece: a conversation, a day of a chat, a file.
type piece struct {
	at       int64 // seconds since 1970, of its last words; 0: not known
	file     int   // meaning belongs to the translator
	from, to int64
}

// translator reads one format.
type translator interface {
	// index returns the pieces of a source, in its order.
	index(r *reading) ([]piece, error)
	// read passes the messages and notes of a piece to r.
	read(r *reading, p piece) error
}

// format is a format that is recognized.
type format struct {
	name, what string
	detect     func(s *Source) bool
	open       func() translator
}

// formats returns the formats, in the order in which they are tried: those that are told by their names and members before
// those that are told by an ending.
func formats() []format {
	return []format{
		{"slack", "an export of a Slack workspace (zip or folder)", isSlack, func() translator { return &slack{} }},
		{"chatgpt", "ChatGPT's conversations.json, or the zip with it", isChatGPT, func() translator { return &chatGPT{} }},
		{"claude", "Claude's conversations.json, or the zip with it", isClaude, func() translator { return &claude{} }},
		{"gemini", "what Google Takeout exports of Gemini, as JSON", isGemini, func() translator { return &gemini{} }},
		{"telegram", "Telegram's result.json, or the folder with it", isTelegram, func() translator { return &telegram{} }},
		{"messages", "a JSON file of messages with an author and a time: Instagram, Messenger, Discord", isMessages, func() translator { return &messages{} }},
		{"memoryos", "the folder of a user of MemoryOS, or its short_term.json", isMemoryOS, func() translator { return &memoryOS{} }},
		{"memorybank", "a JSON file of memories of MemoryBank", isMemoryBank, func() translator { return &memoryBank{} }},
		{"letta", "an agent file of Letta (.af)", isLetta, func() translator { return &letta{} }},
		{"mem0", "a JSON file of memories of mem0", isMem0, func() translator { return &mem0{} }},
		{"jsonl", "lines of JSON, or a JSON list, of messages or notes", isLines, func() translator { return &lines{} }},
		{"whatsapp", "a chat that WhatsApp exported (text or zip)", isWhatsApp, func() translator { return &whatsApp{} }},
		{"mail", "a mail (.eml), a mailbox (mbox), or a folder of them", isMail, func() translator { return &post{} }},
		{"transcript", "a talk in text: lines with names, captions of a meeting, what imessage-exporter writes", isTranscript, func() translator { return &transcript{} }},
		{"markdown", "Markdown and text: a file, a folder, a vault of Obsidian or Logseq", isMarkdown, func() translator { return &markdown{} }},
	}
}

// Formats returns the names of the formats.
func Formats() []string {
	list := formats()
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].name
	}
	return names
}

// Recognize returns the name of the format of a source.
func Recognize(s *Source) (string, error) {
	f, err := s.formatOf("")
	return f.name, err
}

func (s *Source) formatOf(name string) (format, error) {
	if len(s.files) == 0 {
		return format{}, fault.New(fault.Invalid, "%s: there is no file to import. Supported are %s", s.name, strings.Join(Formats(), ", "))
	}
	list := formats()
	for _, f := range list {
		if name == f.name || name == "" && f.detect(s) {
			return f, nil
		}
	}
	if name != "" {
		return format{}, fault.InvalidField("format", "must be one of %s", wording.Or(Formats()...))
	}
	if s.one != nil {
		if info, err := s.one.Stat(); err == nil && info.Size() == 0 {
			return format{}, fault.New(fault.Invalid, "%s is empty", s.name)
		}
	}
	return format{}, fault.New(fault.Invalid, "%s is not recognized, so nothing of it is imported. Supported are %s", s.name, strings.Join(Formats(), ", "))
}

// reading is one pass over a source.
type reading struct {
	Options

	ctx    context.Context //nolint:containedctx // of the one pass
	source *Source
	report Report
	yield  func(Line) error
	lines  int // that were yielded
	seen   map[string]int
	seenAt string
	round  int

	several bool // files, which may have the same message
	known   map[[8]byte]bool
}

// orFirst returns the files of a format. A source that has none was asked for as that format: its first file is refused with what it
// lacks.
func (r *reading) orFirst(files []string) []string {
	if len(files) == 0 {
		return r.source.files[:1]
	}
	return files
}

// Read passes the lines of a source to yield, and returns what it understood. An error of yield ends it.
func Read(ctx context.Context, s *Source, o Options, yield func(Line) error) (Report, error) {
	f, err := s.formatOf(o.Format)
	if err != nil {
		return Report{}, err
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	o.Now = cmp.Or(o.Now, time.Now())
	r := &reading{Options: o, ctx: ctx, source: s, yield: yield, seen: map[string]int{}, known: map[[8]byte]bool{}}
	r.report = Report{Format: f.name, What: f.what, Left: map[string]int{}, people: map[string]int{}}
	t := f.open()
	foreign := func() error {
		if o.Format == "" || r.lines > 0 || f.detect(s) {
			return nil
		}
		return fault.New(fault.Invalid, "%s is not %s: nothing in it can be read as the format %s", s.name, f.what, f.name)
	}
	pieces, err := t.index(r)
	if _, explained := errors.AsType[*fault.Error](err); err != nil && !explained && ctx.Err() == nil {
		err = cmp.Or(foreign(), err) // such as of a file that it lacks
	}
	if err != nil {
		return Report{}, err
	}
	if s.strange > 0 {
		r.left("files of the zip whose names point out of it", s.strange)
	}
	r.sort(pieces)
	for _, p := range pieces {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		if r.several { // what another file has is the same message
			r.seenAt = ""
		}
		if err := t.read(r, p); err != nil {
			return Report{}, err
		}
	}
	if err := foreign(); err != nil {
		return Report{}, err
	}
	r.report.finish(o)
	return r.report, nil
}

// sort sorts pieces by time. Those without a time are where their neighbors in the source are.
func (r *reading) sort(pieces []piece) {
	last := int64(0)
	for i := range pieces {
		pieces[i].at = cmp.Or(pieces[i].at, last)
		last = pieces[i].at
	}
	slices.SortStableFunc(pieces, func(a, b piece) int {
		if r.Newest {
			return cmp.Compare(b.at, a.at)
		}
		return cmp.Compare(a.at, b.at)
	})
}
