package auth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SecretFile reads the value of Config.Secret from a file, and creates the file
// with mode 0600 when it is absent. Processes that start at the same time read
// the same secret: the file is created atomically, and never replaced.
func SecretFile(path string) ([]byte, error) {
	secret, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeSecretFile(path); err != nil {
			return nil, err
		}
		secret, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the token secret: %w", err)
	}
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the token secret in %s has %d bytes, at least %d are required; remove the file to create another", path, len(secret), minSecret)
	}
	return secret, nil
}

func makeSecretFile(path string) error {
	// CreateTemp creates files with mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("create the token secret: %w", err)
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // a leftover file holds an unused secret
	secret := make([]byte, minSecret)
	_, _ = rand.Read(secret) // never fails
	_, err = tmp.Write(secret)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Link(tmp.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the token secret: %w", err)
	}
	return nil
}
