package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// The sentence of a fault is sent to every caller of the API, so it does not name a place on the
// server. The cause, which operators read, names the file when the file is at fault.
func TestFaultsDoNotNameTheFile(t *testing.T) {
	t.Parallel()
	const path = "/srv/private/slipbox.db"
	s := &Store{path: path}
	cause := errors.New("open " + path)
	faults := map[string]error{}
	for _, err := range []error{
		cause, context.DeadlineExceeded, context.Canceled, syscall.ENOSPC, syscall.EROFS, syscall.EIO,
		&fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}, &fs.PathError{Op: "stat", Path: path, Err: syscall.EIO},
	} {
		faults[err.Error()] = s.translate(err)
	}
	named := 0
	for code := range 1 << 10 { // every result code, and the extended codes of 1 to 3
		err := s.translateCode(errors.New("the driver"), code)
		faults[err.Error()] = err
		if strings.Contains(err.Error(), path) {
			named++
		}
	}
	for what, err := range faults {
		f, ok := errors.AsType[*fault.Error](err)
		if !ok {
			t.Errorf("%s is not a fault", what)
			continue
		}
		if f.Message == "" || strings.Contains(f.Message, "/") || len(f.Fields) > 0 {
			t.Errorf("%s says %q %v", what, f.Message, f.Fields)
		}
	}
	if named == 0 {
		t.Error("no cause names the file")
	}
}
