// Package when reads the time expressions of a question, in English and in
// Chinese, and renders a date as it is indexed with a note.
//
// [Parse] turns "last May" or "三天前" into the days that it speaks of. All
// calendars are Gregorian and all days those of UTC. What a phrase leaves open
// is settled by rules that never change with the data:
//
//   - Questions to a memory look back. A month, a day or a weekday without a
//     year is the latest that has begun by the reference time.
//   - "last" is the latest that is over, "next" the first that has not begun,
//     "this" the one of the reference time's week or year. Weeks begin on
//     Monday; seasons are those of the north, by whole months, and a winter
//     belongs to the year in which it begins.
//   - An amount is as exact as its unit: "two weeks ago" is the week that holds
//     the day fourteen days ago, "three months ago" a calendar month.
//
// A number is a date only where the words around it say so. Numeric dates
// whose day and month could be exchanged are left alone.
//
// The grammar is our own: the libraries at hand give one moment, not a span,
// and find dates in words such as "may", "sat" and plain numbers.
package when
