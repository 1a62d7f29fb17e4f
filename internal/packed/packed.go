// Package packed reads files that a program embeds compressed. tools/pack writes them.
package packed

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

// Unpack returns the content of a file that tools/pack wrote. An error means that the program was built with a
// damaged file.
func Unpack(file []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("an embedded file: %w", err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("an embedded file: %w", err)
	}
	return content, nil
}
