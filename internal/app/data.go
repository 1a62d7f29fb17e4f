package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
)

// Names inside the data directory.
const (
	databaseFile = "slipbox.db"
	lockFile     = "LOCK"
	secretFile   = "secret.key" // wraps signing keys
)

func errNotDirectory(path string) error {
	return fault.New(fault.Unavailable, "the data path %s is not a directory; name another with --data", path)
}

// makeDataDir creates the directory, readable by its owner only.
func makeDataDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return errNotDirectory(dir)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		if errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "not a directory") {
			return fault.Wrap(err, fault.Unavailable, "the data directory %s cannot be reached; name another with --data", dir)
		}
		return fmt.Errorf("look at the data directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Wrap(err, fault.Unavailable, "the data directory %s cannot be created; check the path and its owner, or name another with --data", dir)
	}
	return nil
}

// lockData locks the data directory for this process until release is called. The kernel releases
// the lock when the process ends, also when it is killed.
func lockData(dir string) (release func(), err error) {
	path := filepath.Join(dir, lockFile)
	lock := flock.New(path, flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "the data directory %s cannot be locked; check its owner and mode", dir)
	}
	if !held {
		by := ""
		if raw, err := os.ReadFile(path); err == nil && len(raw) > 0 {
			by = " by process " + strings.TrimSpace(string(raw))
		}
		return nil, fault.New(fault.Conflict, "the data directory %s is in use%s; stop that gateway, or name another directory with --data", dir, by)
	}
	// The content is only a hint for the message above.
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fault.Wrap(err, fault.Unavailable, "the data directory %s cannot be written", dir), lock.Close())
	}
	return func() { _ = lock.Close() }, nil
}

// wrappingSecret returns the secret that wraps signing keys: the setting, or for the embedded
// store a file that is created once in the data directory.
func wrappingSecret(cfg Settings) ([]byte, error) {
	if cfg.Auth.WrappingKey != "" {
		return []byte(cfg.Auth.WrappingKey), nil
	}
	secret, err := auth.SecretFile(filepath.Join(cfg.Data, secretFile))
	if err != nil {
		return nil, fmt.Errorf("secret of the data directory: %w", err)
	}
	return secret, nil
}

// Backup copies the live database. It leaves out the secret that wraps the signing keys on
// purpose: a restored store creates new ones. So tokens, which live for minutes, become invalid,
// while API keys stay valid.
func Backup(ctx context.Context, cfg Settings, log *slog.Logger, file string) error {
	if cfg.Servers() {
		return fault.New(fault.Conflict, "the store is Postgres: back it up with pg_dump as its owner, or with the server's own backups; `gateway backup` copies the embedded store that --data names")
	}
	st, err := openToolEmbedded(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	if err := st.Backup(ctx, file); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}

// Restore copies a backup into an empty data directory and verifies it.
func Restore(ctx context.Context, cfg Settings, log *slog.Logger, file string) error {
	if cfg.Servers() {
		return fault.New(fault.Conflict, "the store is Postgres: restore a dump of it with pg_restore as its owner; `gateway restore` makes an embedded store where --data names a directory")
	}
	if _, err := os.Stat(file); err != nil {
		return fault.Wrap(err, fault.NotFound, "the backup %s cannot be read", file)
	}
	if err := makeDataDir(cfg.Data); err != nil {
		return err
	}
	entries, err := os.ReadDir(cfg.Data)
	if err != nil {
		return fmt.Errorf("look into the data directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() != lockFile {
			return fault.New(fault.Conflict, "the data directory %s is not empty (it holds %s); name an empty or new one with --data", cfg.Data, e.Name())
		}
	}
	release, err := lockData(cfg.Data)
	if err != nil {
		return err
	}
	defer release()
	target := filepath.Join(cfg.Data, databaseFile)
	part := target + ".part"
	if err := copyFile(part, file); err != nil {
		return errors.Join(fmt.Errorf("copy the backup: %w", err), os.Remove(part))
	}
	if err := os.Rename(part, target); err != nil {
		return fmt.Errorf("put the backup in place: %w", err)
	}
	st, err := openEmbedded(ctx, cfg, nil, log, true)
	if err != nil {
		return errors.Join(fault.Wrap(err, fault.CodeOf(err), "%s is not a usable backup; name a file that `gateway backup` wrote", file), os.Remove(target))
	}
	problems, err := st.Verify(ctx)
	if err = errors.Join(err, st.Close()); err != nil {
		return fmt.Errorf("check the restored store: %w", err)
	}
	if len(problems) > 0 {
		return fault.New(fault.Internal, "the restored store has %d problems; `gateway check` lists them", len(problems))
	}
	return nil
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}
