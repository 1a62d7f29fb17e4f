// Package when parses the time expressions of a question, and formats the date that is indexed with a note.
//
// [Parse] converts dates ("8 May 2023", 2023-05-08, 2023年5月8日) and simple expressions relative to a reference time
// ("last May", "three days ago", 三天前) to the days that they mean, in the time zone of the reference. English and
// Chinese are the languages that it knows; dates in digits are the same in all. Everything else is left to the words of
// the question, which find the indexed date too. All calendars are Gregorian. Fixed rules decide what a phrase leaves
// open:
//
//   - Questions to a memory look back. A month, a day or a weekday without a
//     year is the latest that has begun by the reference time.
//   - "last" is the latest that is over, "next" the first that has not begun,
//     "this" the one of the reference time's week or year. Weeks begin on Monday.
//   - An amount is as exact as its unit: "two weeks ago" is the week that
//     contains the day fourteen days ago, "three months ago" a calendar month.
//
// A number is a date only when the words around it indicate that. Numeric dates are not parsed when
// day and month could be exchanged.
//
// Package index calls [Words], and package recall calls [Parse].
package when
