package weights

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// source is a tree that contains the files, packed or not.
type source struct {
	name  string            // as the caller knows it
	fs    fs.FS             // root of the tree
	paths map[string]string // within fs, by name of the file
	close func() error
}

// Limits of the search for the files.
const (
	maxDepth   = 4     // folders below the given one: site-packages, package, model
	maxEntries = 20000 // files and folders read
)

// open finds the files at a path: in a wheel, in a folder, or in a folder's only wheel.
func open(from string, files []file) (*source, error) {
	info, err := os.Stat(from)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return openWheel(from, files)
	}
	s := &source{name: from, fs: os.DirFS(from), close: func() error { return nil }}
	err = s.findFolder(files)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if wheels, globErr := filepath.Glob(filepath.Join(from, "*.whl")); globErr == nil && len(wheels) == 1 {
		return openWheel(wheels[0], files)
	}
	return nil, err
}

func openWheel(from string, files []file) (*source, error) {
	z, err := zip.OpenReader(from)
	if err != nil {
		return nil, fmt.Errorf("%s is not a wheel: %w", from, err)
	}
	s := &source{name: from, fs: z, close: z.Close}
	if err := s.findFolder(files); err != nil {
		return nil, errors.Join(err, z.Close())
	}
	return s, nil
}

// findFolder finds the folder, nearest first, that has all files.
func (s *source) findFolder(files []file) error {
	folders := map[string][]string{} // names of files found, by folder
	seen := 0
	err := fs.WalkDir(s.fs, ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			if at == "." {
				return err
			}
			return fs.SkipDir // not readable, so the files are not there
		}
		if seen++; seen > maxEntries {
			return fs.SkipAll
		}
		if entry.IsDir() {
			if at != "." && strings.Count(at, "/") >= maxDepth {
				return fs.SkipDir
			}
			return nil
		}
		if slices.ContainsFunc(files, func(f file) bool { return f.Name == entry.Name() }) {
			folders[path.Dir(at)] = append(folders[path.Dir(at)], entry.Name())
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	best := ""
	for folder, names := range folders {
		if len(names) == len(files) && (best == "" || nearer(folder, best)) {
			best = folder
		}
	}
	if best == "" {
		return s.missingReason(files, folders)
	}
	s.paths = map[string]string{}
	for _, f := range files {
		s.paths[f.Name] = path.Join(best, f.Name)
	}
	return nil
}

func nearer(a, b string) bool {
	if x, y := strings.Count(a, "/"), strings.Count(b, "/"); x != y {
		return x < y
	}
	return a < b
}

// missingReason returns an error that names a file that is in no folder, or else says that the
// files are in different folders.
func (s *source) missingReason(files []file, folders map[string][]string) error {
	for _, f := range files {
		found := false
		for _, names := range folders {
			found = found || slices.Contains(names, f.Name)
		}
		if !found {
			return missingFile(f, s.name)
		}
	}
	return fmt.Errorf("%s does not hold the files in one folder: %w", s.name, fs.ErrNotExist)
}
