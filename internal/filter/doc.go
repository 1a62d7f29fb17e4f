// Package filter owns the filter language: its syntax, its limits, its
// meaning, and an evaluator that every other reading of it (a store's SQL, an
// index's bitmaps) must agree with.
//
// # Syntax
//
//	{"and":[F,…]}  {"or":[F,…]}  {"not":F}
//	{"field":"tags","op":"contains","value":"x"}
//
// Fields are kind, category, state (text); tags, keywords (lists of text);
// importance (number); occurred_at, created_at (time); attributes.<path>
// (JSON, path segments separated by dots, objects only). Operators are eq ne
// gt gte lt lte in contains exists.
//
//	field            operators                          value
//	kind category    eq ne gt gte lt lte contains       text
//	  state          in                                 list of text
//	tags keywords    eq ne contains                     text
//	                 in                                 list of text
//	importance       eq ne gt gte lt lte                number
//	                 in                                 list of numbers
//	occurred_at      eq ne gt gte lt lte                time
//	  created_at     in                                 list of times
//	attributes.…     eq ne                              text, number or boolean
//	                 gt gte lt lte                      text or number
//	                 contains                           text, number or boolean
//	                 in                                 list of the same
//	any              exists                             true (default) or false
//
// # Meaning
//
// Logic is two-valued: a leaf is true or false, never unknown, and "not" is
// plain negation.
//
//   - Text compares byte by byte: letter case, accents and normal form count.
//   - "ne" is the negation of "eq", so it is true of an absent value. Every
//     other operator but "exists" is false of an absent value.
//   - A list (tags, keywords, a JSON array) satisfies eq, in and contains when
//     one of its elements equals the value, and no ordering operator. Elements
//     that are arrays or objects equal nothing.
//   - "contains" on text is "has as a substring"; the empty text is contained
//     in every text. On a number or boolean it is false.
//   - Types never convert: text "1", number 1 and true differ from each other,
//     and an ordering operator between different types is false. Numbers are
//     IEEE doubles.
//   - An object as attribute value exists and satisfies nothing else. A JSON
//     null is absent.
//   - Category, kind and state are absent when empty; tags and keywords when
//     they have no element; times when zero. Importance is never absent.
//   - A time value is RFC 3339 with any offset, or YYYYMMDDHHmm in UTC;
//     instants compare at microseconds. Text under attributes is text, also
//     where it looks like a time.
//
// # Limits
//
// At most [MaxDepth] nested operators, [MaxLeaves] leaves and [MaxValues]
// values in one list. Unknown and repeated members are refused. Every refusal
// is a fault that names the offender by its path, such as
// "filter.and[1].value".
//
// The package imports fault only.
package filter
