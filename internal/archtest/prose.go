package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Remark is a line of ours that is not in plain English.
type Remark struct {
	// File is relative to the module.
	File   string
	Line   int
	Reason string
}

// String returns the remark in the form of a compiler's message.
func (r Remark) String() string { return fmt.Sprintf("%s:%d: %s", r.File, r.Line, r.Reason) }

// maxCommentColumns bounds a line that holds a comment, code before it included.
// A tab counts as one column, as in the positions of the compiler.
const maxCommentColumns = 140

// bannedWords are old or rare words, each with what to write instead. They are searched
// for in comments and documents, in any letter case.
var bannedWords = []struct {
	expr    *regexp.Regexp
	instead string
}{
	{word(`(?:tell|say)s? whether`), "reports whether"},
	{word(`(?:who|what|whom)(?:so)?ever`), "anyone, any, all"},
	{word(`he who`), "the caller, the client"},
	{word(`c[ao]mes? to be`), "is, becomes"},
	{word(`to be had`), "there is, available"},
	{word(`stands?`), "is, exists, is stored"},
	{word(`anew`), "again"},
	{word(`goes on`), "continues"},
	{word(`lets? be`), "leaves"},
	{word(`unfounded`), "stale"},
	{word(`whence|thereof|therein|wherein|whereof|thereby|thereupon|hitherto|henceforth`), "from which, of it, in which"},
	{word(`lest`), "so that … not"},
	{word(`so that none`), "so that no …"},
	{word(`nothing but`), "only"},
	{word(`of itself`), "by itself"},
	{word(`as it were`), "(leave it out)"},
	{word(`nay`), "no"},
	{word(`forsa(?:ke[ns]?|king)`), "leave, drop"},
	{regexp.MustCompile(`(?i)\bis no more(?:[.,;:)]|$)`), "no longer exists"},
	{regexp.MustCompile(`(?i)\bof old(?:[.,;:)]|$)`), "earlier"},
}

// unclearWords mean two things. They are searched for in comments outside of tests. What isMissing matches is left out before.
var (
	isMissing    = word(`there(?: is| are| was| were|'s) no|(?:is|are|was|were) no (?:longer|more|other|better|less)`)
	unclearWords = []struct {
		expr    *regexp.Regexp
		instead string
	}{
		{word(`at once`), "concurrently, immediately, in one call"},
		{word(`(?:is|are|was|were) no [a-z]+`), "is not a …, are not …"},
	}
)

// goodWords are phrases that hold a banned word in a common meaning.
var goodWords = word(`stands? (?:in )?for|stand-ins?|stand-?alone`)

// word compiles an expression that matches whole words, in any letter case.
func word(expr string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + expr + `)\b`) }

// britishWord matches the British spelling of a word, and its forms. The noun "analyses"
// is the plural of "analysis" in both spellings and is not matched.
var britishWord = regexp.MustCompile(`(?i)\b(?:(?:un|re|de|dis|mis)?(?:` + strings.Join([]string{
	`neighbour\w*`, `behaviour\w*`, `colour\w*`, `favour\w*`, `honour\w*`, `flavour\w*`, `humour`, `labour\w*`, `rumour\w*`,
	`analys(?:e|ed|er|ers|ing)`, `catalogu(?:e|es|ed|ing)`, `dialled`,
	`(?:normal|serial|token|recogn|summar|initial|optim|organ|author|minim|maxim|categor|general|special|synchron|final|sanit|priorit|custom|emphas|memor|parameter|real|visual|standard|random|stabil|penal|capital|canonical|util|local|central|quant|vector|digit|item)is(?:e|ed|es|er|ers|ing|ation|ations|able)`,
	`centre[ds]?`, `metre[s]?`, `fibre[s]?`,
	`(?:label|cancel|model|level|signal|travel|total|tunnel|marshal|channel)l(?:ed|ing|er|ers)`,
	`licen[c]es?`, `defences?`, `offences?`, `artefacts?`, `judgements?`, `acknowledgements?`, `gre(?:y|ys|yed|ying)`,
	`whilst`, `amongst`, `learnt`, `(?:mis)?spelt`, `programmes?`, `ageing`, `fulfil`, `instal`,
}, `|`) + `))\b`)

// bannedOpenings are the verbs that a doc comment does not open with, after the name.
var bannedOpenings = []struct{ verb, instead string }{
	{"gives", "returns"},
	{"lets", "allows, permits"},
	{"takes away", "removes, deletes"},
	{"makes of", "builds, converts"},
}

// CheckComments returns what is not in plain English in the Go files of the module in root
// and of the modules in it: words and spelling of comments, openings of doc comments,
// spelling of names that are declared, and length of lines with a comment. Generated files
// are left out. It fails when a file cannot be read or is not Go.
func CheckComments(root fs.FS) ([]Remark, error) {
	var found []Remark
	err := walkOurs(root, func(file string) error {
		if path.Ext(file) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse %s: %w", file, err)
		}
		if ast.IsGenerated(parsed) {
			return nil
		}
		r := &reader{file: file, set: set, lines: strings.Split(string(src), "\n")}
		r.comments(parsed)
		ast.Inspect(parsed, r.node)
		found = append(found, r.found...)
		return nil
	})
	return found, err
}

// walkOurs calls visit for every file of the module in root and of the modules in it,
// without testdata, hidden folders and what was installed into them.
func walkOurs(root fs.FS, visit func(file string) error) error {
	return fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if !entry.IsDir() {
			return visit(file)
		}
		if file != "." && (name == "testdata" || name == "vendor" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		return nil
	})
}

// reader reads one Go file.
type reader struct {
	file  string
	set   *token.FileSet
	lines []string
	found []Remark
}

func (r *reader) remarkf(at token.Pos, format string, args ...any) {
	r.found = append(r.found, Remark{r.file, r.set.Position(at).Line, fmt.Sprintf(format, args...)})
}

// comments checks words and line lengths of all comments of a file.
func (r *reader) comments(file *ast.File) {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if isDirective(c.Text) {
				continue
			}
			first := r.set.Position(c.Pos()).Line
			text := withoutQuotes(c.Text)
			for i, line := range strings.Split(text, "\n") {
				if n := utf8.RuneCountInString(r.lines[first+i-1]); n > maxCommentColumns {
					r.found = append(r.found, Remark{r.file, first + i, fmt.Sprintf("the line has a comment and %d columns, more than %d", n, maxCommentColumns)})
				}
				for _, reason := range checkWords(line) {
					r.found = append(r.found, Remark{r.file, first + i, reason})
				}
				for _, reason := range checkClear(r.file, line) {
					r.found = append(r.found, Remark{r.file, first + i, reason})
				}
			}
		}
	}
}

// isDirective reports whether a comment is an instruction to a tool, such as go:generate.
// The explanation of a nolint directive is prose and is checked.
func isDirective(comment string) bool {
	return strings.HasPrefix(comment, "//go:") || strings.HasPrefix(comment, "//line ") || strings.HasPrefix(comment, "//export ")
}

var quoted = regexp.MustCompile("`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”")

// withoutQuotes blanks what is quoted: words of the API, sample text. Line breaks stay.
func withoutQuotes(text string) string { return quoted.ReplaceAllString(text, `""`) }

// checkWords returns what is wrong with the words of a line.
func checkWords(line string) []string {
	var found []string
	line = goodWords.ReplaceAllString(line, "")
	for _, w := range bannedWords {
		if m := w.expr.FindString(line); m != "" {
			found = append(found, fmt.Sprintf("%q is not plain English; write: %s", strings.TrimSpace(m), w.instead))
		}
	}
	for _, m := range britishWord.FindAllString(line, -1) {
		found = append(found, fmt.Sprintf("%q is British spelling", m))
	}
	return found
}

// checkClear returns the words of a comment's line that mean two things, outside of tests.
func checkClear(file, line string) []string {
	if strings.HasSuffix(file, "_test.go") {
		return nil
	}

	var found []string
	line = isMissing.ReplaceAllString(line, "")
	for _, w := range unclearWords {
		if m := w.expr.FindString(line); m != "" {
			found = append(found, fmt.Sprintf("%q means two things; write: %s", m, w.instead))
		}
	}
	return found
}

// node checks a node's doc comment, and the names that it declares.
func (r *reader) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		r.doc(n.Doc)
		r.docName(n.Doc, n.Name)
		r.names(n.Name)
	case *ast.GenDecl:
		r.doc(n.Doc)
		if len(n.Specs) == 1 {
			r.docName(n.Doc, declared(n.Specs[0])...)
		}
	case *ast.TypeSpec:
		r.doc(n.Doc)
		r.docName(n.Doc, n.Name)
		r.names(n.Name)
	case *ast.ValueSpec:
		r.doc(n.Doc)
		r.docName(n.Doc, n.Names...)
		r.names(n.Names...)
	case *ast.Field:
		r.doc(n.Doc)
		r.names(n.Names...)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			r.names(identifiers(n.Lhs...)...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			r.names(identifiers(n.Key, n.Value)...)
		}
	}
	return true
}

// identifiers returns the expressions that are plain names.
func identifiers(exprs ...ast.Expr) []*ast.Ident {
	var all []*ast.Ident
	for _, e := range exprs {
		if id, ok := e.(*ast.Ident); ok {
			all = append(all, id)
		}
	}
	return all
}

// doc checks how a doc comment opens.
func (r *reader) doc(doc *ast.CommentGroup) {
	if doc == nil {
		return
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(doc.Text()), " ")
	if name == "A" || name == "An" || name == "The" {
		_, rest, _ = strings.Cut(rest, " ")
	}
	for _, o := range bannedOpenings {
		if after, ok := strings.CutPrefix(rest, o.verb); ok && (after == "" || strings.ContainsAny(after[:1], " \n.,:;")) {
			r.remarkf(doc.Pos(), "the doc comment opens with %q; write: %s", o.verb, o.instead)
		}
	}
}

// declared returns the names that a declaration declares.
func declared(spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}

// docName checks that a doc comment that opens with a name opens with the declared one: a
// renamed function keeps its comment otherwise.
func (r *reader) docName(doc *ast.CommentGroup, names ...*ast.Ident) {
	if doc == nil || len(names) == 0 {
		return
	}
	first := strings.TrimRight(strings.SplitN(strings.TrimSpace(doc.Text()), " ", 2)[0], ",.:;")
	if letter, _ := utf8.DecodeRuneInString(first); !unicode.IsLower(letter) {
		return
	}
	if !slices.ContainsFunc(names, func(id *ast.Ident) bool { return id.Name == first || id.Name+"'s" == first }) {
		r.remarkf(doc.Pos(), "the doc comment opens with %q, the name is %s", first, names[0].Name)
	}
}

// names checks the spelling of names.
func (r *reader) names(all ...*ast.Ident) {
	for _, id := range all {
		for _, part := range nameParts(id.Name) {
			if britishWord.MatchString(part) {
				r.remarkf(id.Pos(), "%q in the name %s is British spelling", part, id.Name)
			}
		}
	}
}

// nameParts returns the words of a name: "newNeighbor" has "new" and "Neighbor".
func nameParts(name string) []string {
	var parts []string
	begin, last := 0, rune(0)
	for i, c := range name {
		if i > 0 && (c == '_' || unicode.IsUpper(c) && !unicode.IsUpper(last)) {
			parts = append(parts, name[begin:i])
			begin = i
		}
		last = c
	}
	parts = append(parts, name[begin:])
	for i := range parts {
		parts[i] = strings.Trim(parts[i], "_0123456789")
	}
	return slices.DeleteFunc(parts, func(p string) bool { return p == "" })
}

// CheckDocuments returns what is not in plain English in the documents of the module in
// root: Markdown files, the prose of the API's contract, comments of scripts. Code, in
// fences and between backquotes, is not read.
func CheckDocuments(root fs.FS) ([]Remark, error) {
	var found []Remark
	err := walkOurs(root, func(file string) error {
		prose, ok := proseOf(file)
		if !ok {
			return nil
		}
		src, err := fs.ReadFile(root, file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		for i, line := range prose(strings.Split(string(src), "\n")) {
			for _, reason := range checkWords(withoutQuotes(line)) {
				found = append(found, Remark{file, i + 1, reason})
			}
		}
		return nil
	})
	return found, err
}

// proseOf returns how to find the prose of a document's lines, if it has any. Lines that
// hold none become empty.
func proseOf(file string) (func([]string) []string, bool) {
	switch {
	case strings.HasPrefix(file, "docs/reviews/"), strings.HasPrefix(file, "internal/eval/reviews/"):
		// Verdicts on texts of others.
		return nil, false
	case path.Ext(file) == ".md":
		return proseOfMarkdown, true
	case file == "api/openapi.yaml", file == "api/mem0.yaml":
		return proseOfContract, true
	case path.Ext(file) == ".sh", path.Base(file) == "Makefile":
		return proseOfScript, true
	}
	return nil, false
}

func proseOfMarkdown(lines []string) []string {
	inFence := false
	return mapLines(lines, func(line string) string {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inFence = !inFence
			return ""
		}
		if inFence {
			return ""
		}
		return line
	})
}

// contractProse matches a field of the contract that holds a sentence.
var contractProse = regexp.MustCompile(`^( *)(?:- )?(?:description|summary|title): *(.*)$`)

func proseOfContract(lines []string) []string {
	indent := -1 // of the field whose text continues
	return mapLines(lines, func(line string) string {
		if m := contractProse.FindStringSubmatch(line); m != nil {
			indent = len(m[1])
			return strings.Trim(m[2], `"'`)
		}
		if at := len(line) - len(strings.TrimLeft(line, " ")); indent >= 0 && (at > indent || line == "") {
			return line
		}
		indent = -1
		_, comment, _ := strings.Cut(line, "# ")
		return comment
	})
}

func proseOfScript(lines []string) []string {
	return mapLines(lines, func(line string) string {
		_, comment, _ := strings.Cut(line, "# ")
		return comment
	})
}

func mapLines(lines []string, change func(string) string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = change(line)
	}
	return all
}
