// Package filter owns the filter language: its syntax, its limits, its meaning, and an evaluator.
// Every other implementation (the SQL of a store, the bitmaps of an index) must agree with the
// evaluator.
//
// The API parses filters, package index evaluates them on rows, the stores translate them to SQL.
// The package imports fault, text, clip and wording only.
//
// # Syntax
//
//	{"and":[F,…]}  {"or":[F,…]}  {"not":F}
//	{"field":"tags","op":"contains","value":"x"}
//
// Fields are id, kind, category, state (text); tags, keywords (lists of text); importance (number);
// occurred_at, created_at (time); attributes.<path> (JSON, path segments separated by dots, objects
// only; in a segment \. is a dot and \\ a backslash). Operators are eq ne gt gte lt lte in contains icontains exists.
//
//	field            operators                          value
//	id kind          eq ne gt gte lt lte contains       text
//	  category       icontains
//	  state
//	                 in                                 list of text
//	tags keywords    eq ne contains icontains           text
//	                 in                                 list of text
//	importance       eq ne gt gte lt lte                number
//	                 in                                 list of numbers
//	occurred_at      eq ne gt gte lt lte                time
//	  created_at     in                                 list of times
//	attributes.…     eq ne                              text, number or boolean
//	                 gt gte lt lte                      text or number
//	                 contains icontains                 text, number or boolean
//	                 in                                 list of the same
//	any              exists                             true (default) or false
//
// # Meaning
//
// Logic is two-valued: a leaf is true or false, never unknown, and "not" is plain negation.
//
//   - Text compares byte by byte: letter case, accents and normal form matter.
//   - "ne" is the negation of "eq", so it is true for an absent value. Every
//     other operator except "exists" is false for an absent value.
//   - A list (tags, keywords, a JSON array) satisfies eq, in and contains when
//     one of its elements equals the value. It satisfies no ordering operator.
//     Elements that are arrays or objects equal nothing.
//   - "contains" on text means "has as a substring"; every text contains the
//     empty text. On a number or boolean it is false.
//   - "icontains" is "contains" of texts folded as words are (text.Fold): letter case and
//     compatibility forms do not matter, also of the elements of a list.
//   - Types never convert: text "1", number 1 and true differ from each other,
//     and an ordering operator between different types is false. Whole
//     numbers are exact, others are IEEE doubles.
//   - An object as attribute value exists and satisfies nothing else. A JSON
//     null is absent.
//   - Category, kind, state and agent are absent when empty; tags and keywords when
//     they have no element; times when zero. Importance is never absent.
//   - A time value is RFC 3339 with any offset, or YYYYMMDDHHmm in UTC.
//     Instants compare at microseconds. Text under attributes is text, even
//     when it looks like a time.
//
// # Limits
//
// A filter has at most [MaxDepth] nested operators, [MaxLeaves] leaves and [MaxValues] values in
// one list. Unknown and repeated members are refused. Every refusal is a fault whose field is the
// path of the invalid part, such as "filter.and[1].value".
package filter
