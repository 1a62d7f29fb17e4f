package sqlite

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"modernc.org/libc"
	sqlitelib "modernc.org/sqlite/lib"
)

// tracked is how many parameters of a statement SQLite tells apart when it notes that a plan depends on one.
const tracked = 31

// checkReprepared fails the test for each statement in the idle sessions of a store that SQLite prepared
// again by itself. It does so when a plan depends on a bound value: the term x > ? can imply the condition
// x > 0 of a partial index, and the number of a LIMIT changes the cost of a sort. Then a new value costs a
// parse and a plan. A "+" before the parameter or the column, or a literal, avoids it.
func checkReprepared(t *testing.T, s *Store) (statements int) {
	t.Helper()
	tls := libc.NewTLS()
	defer tls.Close()
	for _, p := range []*pool{s.write, s.read} {
		p.mu.Lock()
		idle := append([]*session(nil), p.idle...)
		p.mu.Unlock()
		for _, q := range idle {
			err := q.conn.Raw(func(driver any) error {
				db := reflect.ValueOf(driver).Elem().FieldByName("db")
				if db.Kind() != reflect.Uintptr {
					return fmt.Errorf("%T has no handle of the database", driver)
				}
				handle := uintptr(db.Uint())
				for st := sqlitelib.Xsqlite3_next_stmt(tls, handle, 0); st != 0; st = sqlitelib.Xsqlite3_next_stmt(tls, handle, st) {
					text := libc.GoString(sqlitelib.Xsqlite3_sql(tls, st))
					if strings.HasPrefix(text, "PRAGMA") || sqlitelib.Xsqlite3_bind_parameter_count(tls, st) > tracked {
						continue
					}
					statements++
					if n := sqlitelib.Xsqlite3_stmt_status(tls, st, sqlitelib.SQLITE_STMTSTATUS_REPREPARE, 0); n > 0 {
						t.Errorf("prepared again %d times: %s", n, text)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
	return statements
}
