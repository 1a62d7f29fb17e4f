// Package when parses the time expressions of a question, in English and in Chinese, and formats
// the date that is indexed with a note.
//
// [Parse] converts "last May" or "三天前" to the days that it means. All calendars are Gregorian and
// all days are in UTC. Fixed rules, which do not depend on the data, decide what a phrase leaves
// open:
//
//   - Questions to a memory look back. A month, a day or a weekday without a
//     year is the latest that has begun by the reference time.
//   - "last" is the latest that is over, "next" the first that has not begun,
//     "this" the one of the reference time's week or year. Weeks begin on
//     Monday. Seasons are those of the northern hemisphere, by whole months,
//     and a winter belongs to the year in which it begins.
//   - An amount is as exact as its unit: "two weeks ago" is the week that
//     contains the day fourteen days ago, "three months ago" a calendar month.
//
// A number is a date only when the words around it indicate that. Numeric dates are not parsed when
// day and month could be exchanged.
//
// The grammar is our own: the available libraries return one moment instead of a period, and find
// dates in words such as "may", "sat" and plain numbers.
//
// Package index calls [Words], package recall calls [Parse] for queries, and package rules for
// messages. The package imports no other package of this module.
package when
