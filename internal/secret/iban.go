package secret

import "strings"

// ibanLengths are the countries of the IBAN registry (SWIFT, release 99), each with how many characters its numbers have.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 " +
	"FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 " +
	"MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 " +
	"SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"

// iban takes the number of a bank account that begins at a letter: a country, its length, in groups of four or in one, and the right
// check digits (ISO 13616).
func (f *finder) iban(from, to int) bool {
	s := f.s
	if to-from < 4 || class[s[from]]&upper == 0 || class[s[from+1]]&upper == 0 || class[s[from+2]]&class[s[from+3]]&digit == 0 {
		return false
	}
	at := strings.Index(ibanLengths, s[from:from+2])
	if at < 0 {
		return false
	}
	want := int(ibanLengths[at+2]-'0')*10 + int(ibanLengths[at+3]-'0')
	number, i := make([]byte, 0, want), from
	for grouped := false; i < len(s) && len(number) < want; i++ {
		switch c := s[i]; {
		case class[c]&(digit|upper) != 0:
			number = append(number, c)
		case (c == ' ' || c == '-') && len(number)%4 == 0 && (grouped || len(number) == 4) && s[i-1] != c:
			grouped = true
		default:
			return false
		}
	}
	if len(number) < want || i < len(s) && class[s[i]]&(digit|lower|upper) != 0 || mod97(number) != 1 {
		return false
	}
	f.add(from, i, IBAN)
	return true
}

// mod97 returns the rest of a number of an account, with its first four characters at its end and letters as 10 to 35.
func mod97(number []byte) (rest int) {
	for i := range number {
		c := number[(i+4)%len(number)]
		if class[c]&digit != 0 {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c-'A') + 10) % 97
		}
	}
	return rest
}
