package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// checkDockerfile parses the file with BuildKit's parser, whose warnings and lint count as mistakes,
// and checks what the chart relies on.
func checkDockerfile(r io.Reader) ([]string, error) {
	ast, err := parser.Parse(r)
	if err != nil {
		return nil, err
	}
	var mistakes []string
	bad := func(line int, format string, args ...any) {
		mistakes = append(mistakes, fmt.Sprintf("Dockerfile:%d: %s", line, fmt.Sprintf(format, args...)))
	}
	for _, w := range ast.Warnings {
		bad(w.Location.Start.Line, "%s", w.Short)
	}
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, message string, at []parser.Range) {
		line := 0
		if len(at) > 0 {
			line = at[0].Start.Line
		}
		bad(line, "%s: %s", rule, message)
	}})
	stages, _, err := instructions.Parse(ast.AST, lint)
	if err != nil {
		return nil, err
	}

	for i, stage := range stages {
		earlier := stages[:i]
		line := stage.Location[0].Start.Line
		_, isStage := instructions.HasStage(earlier, stage.BaseName)
		if stage.BaseName != "scratch" && !isStage && !pinned(stage.BaseName) {
			bad(line, "the base %s is not pinned", stage.BaseName)
		}
		for _, command := range stage.Commands {
			if copied, ok := command.(*instructions.CopyCommand); ok && copied.From != "" {
				if _, ok := instructions.HasStage(earlier, copied.From); !ok {
					bad(copied.Location()[0].Start.Line, "copies from %s, which is no stage above", copied.From)
				}
			}
			if added, ok := command.(*instructions.AddCommand); ok {
				bad(added.Location()[0].Start.Line, "uses ADD; COPY says what it does")
			}
			for _, name := range variablesOf(command) {
				if secretName.MatchString(name) {
					bad(command.Location()[0].Start.Line, "%s would be kept in the image; it is given at run time", name)
				}
			}
		}
	}
	final := stages[len(stages)-1]
	for _, problem := range checkImage(final) {
		bad(final.Location[0].Start.Line, "%s", problem)
	}
	return mistakes, nil
}

// variablesOf returns the names that a command sets with ENV or declares with ARG.
func variablesOf(command instructions.Command) (names []string) {
	switch v := command.(type) {
	case *instructions.EnvCommand:
		for _, pair := range v.Env {
			names = append(names, pair.Key)
		}
	case *instructions.ArgCommand:
		for _, arg := range v.Args {
			names = append(names, arg.Key)
		}
	}
	return names
}

// bin is the folder of the binaries in the chart and the documentation.
const bin = "/usr/local/bin/"

// checkImage checks the last stage, which becomes the image.
func checkImage(stage instructions.Stage) (problems []string) {
	var user string
	var entry, binaries []string
	labels, folders := map[string]bool{}, map[string]string{}
	for _, command := range stage.Commands {
		switch v := command.(type) {
		case *instructions.UserCommand:
			user = v.User
		case *instructions.EntrypointCommand:
			entry = v.CmdLine
			if v.PrependShell {
				problems = append(problems, "ENTRYPOINT needs a shell; write it as a list")
			}
		case *instructions.CmdCommand:
			if v.PrependShell {
				problems = append(problems, "CMD needs a shell; write it as a list")
			}
		case *instructions.RunCommand:
			problems = append(problems, "RUN needs a shell, which the image has not")
		case *instructions.LabelCommand:
			for _, l := range v.Labels {
				labels[strings.Trim(l.Key, `"`)] = true
			}
		case *instructions.CopyCommand:
			binaries = append(binaries, v.DestPath)
			folders[v.DestPath] = v.Chown
		}
	}
	if user != "65532:65532" {
		problems = append(problems, fmt.Sprintf("runs as %q; the chart expects 65532:65532", user))
	}
	if len(entry) != 1 || entry[0] != bin+"gateway" {
		problems = append(problems, "ENTRYPOINT must be "+bin+"gateway alone")
	}
	for _, path := range []string{bin + "gateway", bin + "worker", "/usr/local/share/slipbox/encoder", "/etc/ssl/certs/ca-certificates.crt", "/tmp", "/data"} {
		if !slices.Contains(binaries, path) {
			problems = append(problems, path+" is not copied into the image")
		}
	}
	if folders["/data"] != "65532:65532" {
		problems = append(problems, "/data does not belong to the user of the image")
	}
	for _, label := range []string{"title", "description", "source", "licenses", "version", "revision", "created"} {
		if !labels["org.opencontainers.image."+label] {
			problems = append(problems, "the label org.opencontainers.image."+label+" is missing")
		}
	}
	return problems
}
