// Package migrations embeds the numbered SQL files of each engine, and reads their headers. The
// same number means the same step in both folders. A released file is never edited.
//
// The first line of a file is "-- compatible-from: N": builds that know version N or newer work on
// the schema after this step. A second line "-- contract: REASON" marks a step that older builds
// cannot work with, because it removes or changes something; it raises N.
//
// The package runs nothing and imports nothing of ours: internal/store runs the files for
// internal/store/sqlite and internal/store/postgres, and internal/archtest checks them.
package migrations

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SQLite holds the folder "sqlite", Postgres the folder "postgres".
var (
	//go:embed sqlite/*.sql
	SQLite embed.FS
	//go:embed postgres/*.sql
	Postgres embed.FS
)

// Step is a numbered migration of an engine.
type Step struct {
	Version int64
	Name    string // the words of the file name
	File    string
	// CompatibleFrom is the version that a build must know to work on the schema after this step.
	CompatibleFrom int64
	// Contract is why builds that do not know CompatibleFrom cannot work on it; "" for a step that
	// only adds.
	Contract string
	SQL      string
}

var (
	fileName   = regexp.MustCompile(`^(\d+)_(\w+)\.sql$`)
	compatible = regexp.MustCompile(`^-- compatible-from: (\d+)$`)
	contract   = regexp.MustCompile(`^-- contract: (\S.*)$`)
)

// Steps returns the migrations in a folder, oldest first. A file without a number or without a
// header is an error that names the file and the fix.
func Steps(folder fs.FS) ([]Step, error) {
	files, err := fs.Glob(folder, "*.sql")
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		s, err := read(file, string(text))
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", file, err)
		}
		steps = append(steps, s)
	}
	slices.SortFunc(steps, func(a, b Step) int { return cmp.Compare(a.Version, b.Version) })
	return steps, inOrder(steps)
}

func read(file, text string) (Step, error) {
	name := fileName.FindStringSubmatch(file)
	if name == nil {
		return Step{}, errors.New("its name must be a number, an underscore and words, such as 00002_more.sql")
	}
	lines := strings.SplitN(text, "\n", 3)
	from := compatible.FindStringSubmatch(lines[0])
	if from == nil {
		return Step{}, errors.New(`its first line must be "-- compatible-from: N", where N is the version that a build must know to work on the schema after this step; a step that only adds repeats the number of the step before it`)
	}
	s := Step{File: file, Name: strings.ReplaceAll(name[2], "_", " "), SQL: text}
	var err error
	if s.Version, err = strconv.ParseInt(name[1], 10, 64); err != nil {
		return Step{}, err
	}
	if s.CompatibleFrom, err = strconv.ParseInt(from[1], 10, 64); err != nil {
		return Step{}, err
	}
	if s.CompatibleFrom < 1 || s.CompatibleFrom > s.Version {
		return Step{}, fmt.Errorf("compatible-from must be between 1 and its own version %d, and is %d", s.Version, s.CompatibleFrom)
	}
	if len(lines) > 1 {
		if why := contract.FindStringSubmatch(lines[1]); why != nil {
			s.Contract = why[1]
		}
	}
	return s, nil
}

// inOrder checks that only contracts raise the version that builds must know. The first step has
// nothing before it.
func inOrder(steps []Step) error {
	for i := 1; i < len(steps); i++ {
		s, before := steps[i], steps[i-1]
		switch {
		case s.Version == before.Version:
			return fmt.Errorf("migration %s: %s has the same number", s.File, before.File)
		case s.Contract == "" && s.CompatibleFrom != before.CompatibleFrom:
			return fmt.Errorf(`migration %s: its header must say "-- compatible-from: %d", as %s before it does; if older builds cannot work on its schema, add a second line "-- contract: REASON"`,
				s.File, before.CompatibleFrom, before.File)
		case s.Contract != "" && s.CompatibleFrom <= before.CompatibleFrom:
			return fmt.Errorf(`migration %s: a contract must raise compatible-from above %d, which %s says`, s.File, before.CompatibleFrom, before.File)
		}
	}
	return nil
}
