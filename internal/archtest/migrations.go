package archtest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/migrations"
)

// CheckMigrations returns what is wrong with the steps of the two engines: a number that only one
// of them has, headers that differ, and steps that older builds cannot work with and that do not
// say so.
func CheckMigrations(sqlite, postgres []migrations.Step) (wrong []string) {
	of := func(steps []migrations.Step, version int64) *migrations.Step {
		if i := slices.IndexFunc(steps, func(s migrations.Step) bool { return s.Version == version }); i >= 0 {
			return &steps[i]
		}
		return nil
	}
	for _, s := range sqlite {
		switch other := of(postgres, s.Version); {
		case other == nil:
			wrong = append(wrong, fmt.Sprintf("migrations/sqlite/%s: migrations/postgres has no step %d", s.File, s.Version))
		case other.File != s.File:
			wrong = append(wrong, fmt.Sprintf("migrations/sqlite/%s: the step has another name in migrations/postgres: %s", s.File, other.File))
		case other.CompatibleFrom != s.CompatibleFrom || (other.Contract == "") != (s.Contract == ""):
			wrong = append(wrong, fmt.Sprintf("migrations/sqlite/%s: migrations/postgres says another compatible-from, or only one of them is a contract", s.File))
		}
	}
	for _, s := range postgres {
		if of(sqlite, s.Version) == nil {
			wrong = append(wrong, fmt.Sprintf("migrations/postgres/%s: migrations/sqlite has no step %d", s.File, s.Version))
		}
	}
	for engine, steps := range map[string][]migrations.Step{"sqlite": sqlite, "postgres": postgres} {
		var made strings.Builder // the steps whose indexes may be dropped
		for i, s := range steps {
			if engine == "postgres" { // statements of SQLite name their indexes
				made.WriteString(s.SQL)
			}
			if i == 0 || s.Contract != "" { // nothing came before the first step
				continue
			}
			for _, reason := range notOnlyAdded(s.SQL, plainIndexes(made.String())) {
				wrong = append(wrong, fmt.Sprintf(`migrations/%s/%s: %s; do it in steps that only add, or mark the step with a second line "-- contract: REASON" and raise compatible-from`,
					engine, s.File, reason))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// A step that only adds leaves alone what older builds read and write, so it is judged by a list of
// what is allowed: a statement of no known form is refused.
var (
	createTable    = regexp.MustCompile(`^CREATE TABLE (?:IF NOT EXISTS )?(\S+)`)
	createIndex    = regexp.MustCompile(`^CREATE (UNIQUE )?INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?\S+ ON (?:ONLY )?([^\s(]+)`)
	plainIndex     = regexp.MustCompile(`CREATE INDEX (?:CONCURRENTLY )?(?:IF NOT EXISTS )?(\S+) ON `)
	dropIndex      = regexp.MustCompile(`^DROP INDEX (\S+)$`)
	createOnTable  = regexp.MustCompile(`^CREATE (?:CONSTRAINT )?(?:POLICY|TRIGGER) .*? ON (\S+)`)
	createOther    = regexp.MustCompile(`^CREATE (?:OR REPLACE )?(?:FUNCTION|SEQUENCE|VIEW|TYPE|EXTENSION|STATISTICS)\b`)
	alterTable     = regexp.MustCompile(`^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\S+) (.*)$`)
	addColumn      = regexp.MustCompile(`^ADD (?:COLUMN )?(?:IF NOT EXISTS )?(\S+) (.*)$`)
	addConstraint  = regexp.MustCompile(`^ADD (?:CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b`)
	tuning         = regexp.MustCompile(`^(?:SET \(|RESET \(|ALTER (?:COLUMN )?\S+ SET (?:STORAGE|STATISTICS|COMPRESSION)\b)`)
	changeOfRows   = regexp.MustCompile(`^(INSERT INTO|UPDATE|DELETE FROM|TRUNCATE(?: TABLE)?) (\S+)`)
	updateSet      = regexp.MustCompile(`^UPDATE \S+ SET (.*?)(?: FROM | WHERE |$)`)
	assigned       = regexp.MustCompile(`^(\S+) ?=`)
	allowedOthers  = regexp.MustCompile(`^(?:SELECT SET_CONFIG ?\(|COMMENT ON |ANALYZE\b|GRANT |REVOKE .* FROM PUBLIC$)`)
	requiredColumn = regexp.MustCompile(`\bNOT NULL\b`)
	withDefault    = regexp.MustCompile(`\b(?:DEFAULT|GENERATED)\b`)
	uniqueColumn   = regexp.MustCompile(`\b(?:UNIQUE|PRIMARY KEY)\b`)
	emptyDefault   = regexp.MustCompile(`\bNOT NULL DEFAULT ''$`)
	alternative    = regexp.MustCompile(`\b(?:OR|NOT|CASE)\b`)
)

// plainIndexes returns the indexes that steps make and that refuse no rows: without one, statements are slower, and no more.
func plainIndexes(sql string) map[string]bool {
	out := map[string]bool{}
	for _, m := range plainIndex.FindAllStringSubmatch(strings.ToUpper(sql), -1) {
		out[m[1]] = true
	}
	return out
}

// notOnlyAdded returns why older builds may not work on the schema after a step, a sentence for each
// statement that does more than add.
func notOnlyAdded(sql string, droppable map[string]bool) (reasons []string) {
	up, _, _ := strings.Cut(sql, "-- +goose Down")
	created, added := map[string]bool{}, map[string]string{}
	for _, statement := range statements(up) {
		if m := dropIndex.FindStringSubmatch(statement); len(m) > 1 && droppable[m[1]] {
			continue
		}
		reason := judgeStatement(statement, created, added)
		if reason != "" {
			reasons = append(reasons, fmt.Sprintf("%q %s", shortened(statement), reason))
		}
	}
	return reasons
}

// judgeStatement returns what is wrong with a statement. created and added hold the tables and the columns
// ("TABLE.COLUMN", with their definitions) of this step, which older builds do not know.
//
//nolint:gocognit // one kind of statement after another
func judgeStatement(statement string, created map[string]bool, added map[string]string) string {
	if m := createTable.FindStringSubmatch(statement); m != nil {
		created[m[1]] = true
		return ""
	}
	if m := createIndex.FindStringSubmatch(statement); m != nil {
		if m[1] != "" && !created[m[2]] && !withoutDefaults(statement, m[2], added) {
			return "can refuse rows that older builds write"
		}
		return ""
	}
	if m := createOnTable.FindStringSubmatch(statement); m != nil {
		if !created[m[1]] {
			return "changes what older builds read or write"
		}
		return ""
	}
	if m := alterTable.FindStringSubmatch(statement); m != nil {
		if created[m[1]] {
			return ""
		}
		for _, action := range atCommas(m[2]) {
			if reason := judgeAction(action); reason != "" {
				return reason
			}
			if c := addColumn.FindStringSubmatch(action); c != nil {
				added[m[1]+"."+c[1]] = c[2]
			}
		}
		return ""
	}
	if m := changeOfRows.FindStringSubmatch(statement); m != nil {
		if created[m[2]] || m[1] == "INSERT INTO" {
			return ""
		}
		return judgeUpdate(statement, m[2], added)
	}
	if createOther.MatchString(statement) || allowedOthers.MatchString(statement) {
		return ""
	}
	if strings.HasPrefix(statement, "DO ") {
		return "is a block, which this check cannot read: write its statements out"
	}
	return "does more than add"
}

// withoutDefaults reports whether an index leaves out the rows that older builds insert: a part of its condition
// says that columns of this step, joined by ||, are not the empty text, which is the default of each of them.
func withoutDefaults(statement, table string, added map[string]string) bool {
	_, where, _ := strings.Cut(statement, " WHERE ")
	if alternative.MatchString(where) {
		return false
	}
	return slices.ContainsFunc(strings.Split(where, " AND "), func(part string) bool {
		columns, found := strings.CutSuffix(strings.TrimSpace(part), " <> ''")
		return found && !slices.ContainsFunc(strings.Split(columns, "||"), func(column string) bool {
			return !emptyDefault.MatchString(added[table+"."+strings.TrimSpace(column)])
		})
	})
}

// judgeAction judges an action of ALTER TABLE on a table that older builds know.
func judgeAction(action string) string {
	switch m := addColumn.FindStringSubmatch(action); {
	case addConstraint.MatchString(action):
		return "can refuse rows that older builds write"
	case len(m) > 2 && uniqueColumn.MatchString(m[2]):
		return "can refuse rows that older builds write"
	case len(m) > 2 && requiredColumn.MatchString(m[2]) && !withDefault.MatchString(m[2]):
		return "refuses rows of older builds, which do not write the column: give it a default, or let it be NULL"
	case len(m) > 0 || tuning.MatchString(action):
		return ""
	}
	return "changes what older builds read or write"
}

// judgeUpdate allows changes of rows that fill columns of this step.
func judgeUpdate(statement, table string, added map[string]string) string {
	m := updateSet.FindStringSubmatch(statement)
	if m == nil {
		return "removes rows that older builds may read"
	}
	for _, part := range atCommas(m[1]) {
		column := assigned.FindStringSubmatch(part)
		if len(column) < 2 {
			return "changes values that older builds read"
		}
		if _, ok := added[table+"."+column[1]]; !ok {
			return "changes values that older builds read"
		}
	}
	return ""
}

// atCommas splits a text at the commas that are in no parentheses.
func atCommas(text string) (parts []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

var sqlToken = regexp.MustCompile(`(?s)(--[^\n]*)|(/\*.*?\*/)|('(?:[^']|'')*')|"([^"]+)"|(\$(\w*)\$)|(;)|(\s+)|([^\s;'"$/-]+|.)`)

// statements splits SQL into statements, in upper case, without comments and quotes, with one space
// between words. Texts that are not empty, and the bodies of functions, are '…' in it.
func statements(sql string) (out []string) {
	var b strings.Builder
	end := func() {
		if s := strings.TrimSpace(b.String()); s != "" {
			out = append(out, s)
		}
		b.Reset()
	}
	whole := false // between StatementBegin and StatementEnd
	for sql != "" {
		m := sqlToken.FindStringSubmatch(sql)
		sql = sql[len(m[0]):]
		switch {
		case m[1] != "":
			if mark, ok := strings.CutPrefix(m[1], "-- +goose Statement"); ok {
				whole = strings.TrimSpace(mark) == "Begin"
				end()
			}
		case m[2] != "" || m[8] != "":
			if s := b.String(); s != "" && !strings.HasSuffix(s, " ") {
				b.WriteByte(' ')
			}
		case m[3] == "''":
			b.WriteString(m[3])
		case m[3] != "":
			b.WriteString("'…'")
		case m[4] != "":
			b.WriteString(strings.ToUpper(m[4]))
		case m[5] != "":
			b.WriteString("'…'")
			if _, after, ok := strings.Cut(sql, m[5]); ok {
				sql = after
			}
		case m[7] != "" && !whole:
			end()
		default:
			b.WriteString(strings.ToUpper(m[0]))
		}
	}
	end()
	return out
}

// shortened returns the beginning of a statement, for a message.
func shortened(statement string) string {
	const most = 60 // columns
	if r := []rune(statement); len(r) > most {
		return string(r[:most]) + "…"
	}
	return statement
}
