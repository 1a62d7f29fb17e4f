package document

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// decode returns a text that is UTF-8, or in UTF-16 as its first bytes say, or in the encoding that it declares, if any. What is
// UTF-8 is not something else: nothing guesses.
func decode(data []byte, declared encoding.Encoding) (string, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	from := declared
	switch {
	case isUTF16(data):
		from = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case utf8.Valid(data) && (declared == nil || !isASCII(data)): // an encoding with escapes, such as ISO-2022-JP, is ASCII
		return string(data), nil
	case declared == nil:
		return "", fault.New(fault.Invalid, "the text is not UTF-8; save it as UTF-8, and upload it again")
	}
	text, err := from.NewDecoder().Bytes(data)
	if err != nil || isUTF16(data) && bytes.ContainsRune(text, utf8.RuneError) {
		return "", fault.New(fault.Invalid, "the text is not in the encoding that it names; save it as UTF-8, and upload it again")
	}
	return string(text), nil
}

// isUTF16 reports whether a text begins with the byte order mark of UTF-16.
func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

func isASCII(data []byte) bool {
	return bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// declared returns the encoding that a page declares in its head, or nil.
func declared(page []byte) (e encoding.Encoding) {
	x := xml.NewDecoder(bytes.NewReader(page))
	x.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		e, _ = charset.Lookup(label)
		return in, nil
	}
	if _, err := x.RawToken(); err == nil && e != nil {
		return e
	}
	const outside = "é " // without a declaration, a text with it is UTF-8
	head := strings.ToValidUTF8(string(page[:min(len(page), 1000)]), "")
	e, name, _ := charset.DetermineEncoding([]byte(head+outside), "")
	if name == "utf-8" {
		return nil
	}
	return e
}
