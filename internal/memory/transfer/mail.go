package transfer

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// post reads mail: a message (.eml), a mailbox (mbox), or a folder of them. A thread is a session.
type post struct{ files []string }

const (
	maxDepth = 8         // of the parts of a mail
	maxParts = 1_000     // that are read
	maxMails = 2_000_000 // of a source
)

var (
	mailEndings = []string{".eml", ".mbox", ".mbx"}
	// replyMark is what programs write before the subject of an answer, in their language.
	replyMark = regexp.MustCompile(`^(?:\pL{2,5}(?:\[\d+\])?\s?[:：]\s*)+`)
	wordCodes = &mime.WordDecoder{CharsetReader: func(label string, in io.Reader) (io.Reader, error) { return decoded(label, in), nil }}
)

// decoded returns a text in UTF-8. One in a charset that is not known is returned as it is.
func decoded(label string, in io.Reader) io.Reader {
	code, err := htmlindex.Get(label)
	if err != nil {
		return in
	}
	return transform.NewReader(in, code.NewDecoder())
}

func mailFiles(s *Source) (out []string) {
	for _, name := range s.files {
		base := path.Base(name)
		if (len(s.files) == 1 || base == "mbox" || slices.Contains(mailEndings, strings.ToLower(path.Ext(base)))) && isMailText(s.head(name)) {
			out = append(out, name)
		}
	}
	return out
}

func isMail(s *Source) bool { return len(mailFiles(s)) > 0 }

// isMailText reports whether a text begins with the fields of a mail, or of the first mail of a mailbox.
func isMailText(head string) bool {
	if strings.HasPrefix(head, "From ") {
		_, head, _ = strings.Cut(head, "\n")
	}
	m, err := mail.ReadMessage(strings.NewReader(head))
	if err != nil {
		return false
	}
	_, err = m.Header.Date()
	return err == nil && m.Header.Get("From") != ""
}

// index lists the mails with their times. One that has none, or cannot be read, is left out when it is read.
func (t *post) index(r *reading) (pieces []piece, err error) {
	r.several = true // such as the mailboxes of two labels, or one of both
	t.files = r.orFirst(mailFiles(r.source))
	for i := range t.files {
		found, err := t.mails(r, i)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, found...)
	}
	for i := range pieces {
		if m, in, err := t.open(r, pieces[i]); err == nil {
			at, _ := m.Header.Date()
			pieces[i].at = unix(at)
			_ = in.Close()
		}
	}
	return pieces, r.ctx.Err()
}

// mails lists the mails of a file. In a mailbox each begins with a line "From " that an empty line is before.
func (t *post) mails(r *reading, file int) (pieces []piece, err error) {
	in, err := r.source.bytes(t.files[file])
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	lines := bufio.NewReaderSize(io.NewSectionReader(in, 0, 1<<62), 1<<16)
	from, at, begins := int64(0), int64(0), true
	for {
		line, err := lines.ReadSlice('\n')
		if begins && bytes.HasPrefix(line, []byte("From ")) {
			if at > from {
				pieces = append(pieces, piece{0, file, from, at})
			}
			from = at + int64(len(line))
		}
		at += int64(len(line))
		long := errors.Is(err, bufio.ErrBufferFull)
		begins = !long && len(bytes.TrimRight(line, "\r\n")) == 0
		switch {
		case r.ctx.Err() != nil:
			return nil, r.ctx.Err()
		case len(pieces) > maxMails:
			return nil, fault.New(fault.TooLarge, "%s has more than %d mails; split it", t.files[file], maxMails)
		case errors.Is(err, io.EOF):
			return append(pieces, piece{0, file, from, at}), nil
		case err != nil && !long:
			return nil, err
		}
	}
}

func (t *post) open(r *reading, p piece) (*mail.Message, io.Closer, error) {
	in, err := r.source.bytes(t.files[p.file])
	if err != nil {
		return nil, nil, err
	}
	m, err := mail.ReadMessage(io.NewSectionReader(in, p.from, min(p.to-p.from, maxElement)))
	if err != nil {
		_ = in.Close()
		return nil, nil, err
	}
	return m, in, nil
}

func (t *post) read(r *reading, p piece) error {
	m, in, err := t.open(r, p)
	if err != nil {
		r.left("mails that cannot be read", 1)
		return nil
	}
	defer func() { _ = in.Close() }()
	field := func(name string) string {
		text, err := wordCodes.DecodeHeader(m.Header.Get(name))
		if err != nil {
			text = m.Header.Get(name)
		}
		return label(text)
	}
	at, _ := m.Header.Date()
	out := message{id: strings.Trim(field("Message-Id"), "<>"), at: at, attributes: map[string]any{}}
	parser := mail.AddressParser{WordDecoder: wordCodes}
	if from, err := parser.Parse(m.Header.Get("From")); err == nil {
		out.name = cmp.Or(label(from.Name), from.Address)
	} else {
		out.name = field("From")
	}
	subject := field("Subject")
	root := cmp.Or(strings.Fields(field("References") + " " + field("In-Reply-To") + " " + field("Message-Id"))...)
	if root != strings.TrimSpace(m.Header.Get("Message-Id")) {
		subject = replyMark.ReplaceAllString(subject, "")
	}
	sum := sha256.Sum256([]byte(root))
	out.session = sessionOf(subject, hex.EncodeToString(sum[:4]), at)
	if subject != "" {
		out.attributes["subject"] = subject
	}
	var body content
	body.read(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), "", m.Body, 0)
	out.files = body.files
	text, quoted := unquoted(cmp.Or(plain(strings.ReplaceAll(body.plain.String(), "\n>From ", "\nFrom ")), textOf(body.page.String())))
	if quoted > 0 {
		r.left("lines that mails quote of others", quoted)
	}
	out.text = cmp.Or(text, subject)
	return r.message(out)
}

// content is what a mail says, as text and as a page, and the names of its files.
type content struct {
	plain, page strings.Builder
	files       []string
	parts       int
}

func (c *content) read(kind, coding, disposition string, in io.Reader, depth int) {
	media, of, err := mime.ParseMediaType(kind)
	if err != nil {
		media = "text/plain"
	}
	how, given, _ := mime.ParseMediaType(disposition)
	name := cmp.Or(given["filename"], of["name"])
	switch {
	case strings.HasPrefix(media, "multipart/") && depth < maxDepth:
		for parts := multipart.NewReader(in, of["boundary"]); ; {
			part, err := parts.NextRawPart()
			if c.parts++; err != nil || c.parts > maxParts {
				return
			}
			c.read(cmp.Or(part.Header.Get("Content-Type"), "text/plain"), part.Header.Get("Content-Transfer-Encoding"), part.Header.Get("Content-Disposition"), part, depth+1)
		}
	case how == "attachment" || name != "" || !strings.HasPrefix(media, "text/"):
		if text, err := wordCodes.DecodeHeader(name); err == nil {
			c.files = append(c.files, text)
		}
		return
	}
	switch strings.ToLower(coding) {
	case "quoted-printable":
		in = quotedprintable.NewReader(in)
	case "base64":
		in = base64.NewDecoder(base64.StdEncoding, in)
	}
	raw, _ := io.ReadAll(decoded(cmp.Or(of["charset"], "utf-8"), in))
	if media == "text/html" {
		c.page.Write(raw)
	} else {
		c.plain.Write(raw)
	}
}

// unquoted returns a text without the lines that it quotes of another mail, the line before them that says whose they are, and the
// signature, and how many lines it quotes.
func unquoted(text string) (said string, quoted int) {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimRight(line, " ") == "--" {
			break
		}
		if strings.HasPrefix(line, ">") {
			for n := len(out); quoted == 0 && n > 0; n = len(out) {
				last := strings.TrimSpace(out[n-1])
				if last != "" && (!strings.HasSuffix(last, ":") || !strings.ContainsAny(last, "0123456789@")) {
					break
				}
				out = out[:n-1]
				if last != "" {
					break
				}
			}
			quoted++
			continue
		}
		out = append(out, line)
	}
	return strings.TrimSpace(strings.Join(out, "\n")), quoted
}
