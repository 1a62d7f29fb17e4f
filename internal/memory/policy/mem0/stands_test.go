package mem0_test

import (
	"fmt"
)

// owned is how a language says that a thing of somebody has a value.
type owned struct {
	owners []string
	things []string
	values []string
	forms  []string // of a clause: owner, thing, value
}

// languages have the parts of the sentences that TestNothingVanishes says.
var languages = []owned{
	{
		[]string{"My", "Our", "My sister's", "My company's", "My boss's", "Tom's"}, []string{"name", "dog", "street", "phone", "favorite color", "city"},
		[]string{"Acme", "Mira", "teal", "Vesterbro"},
		[]string{"%s %s is %s.", "%s %s used to be %s.", "%s %s is not %s any more.", "I met someone who said that %s %s is %s.", "We painted the kitchen, %s %s is %s."},
	},
	{
		[]string{"我的", "我们公司的", "我妹妹的", "小明的"}, []string{"名字", "狗", "小区", "电话", "颜色"}, []string{"阳光花园", "旺财", "巴黎", "红色"},
		[]string{"%s%s叫%s。", "%s%s不叫%s了。", "我刚听说%s%s是%s。", "我去年写信的时候,%s%s还是%s。"},
	},
	{
		[]string{"Mein", "Unser", "Toms", "Annas"}, []string{"Name", "Hund", "Beruf", "Wohnort"}, []string{"Bremen", "Mira", "Koch", "Rex"},
		[]string{"%s %s ist %s.", "%s %s ist nicht mehr %s.", "Ich habe gehört, dass %s %s %s ist."},
	},
	{
		[]string{"Mi", "Nuestro", "El otro"}, []string{"nombre", "perro", "barrio", "trabajo"}, []string{"Lavapiés", "Mira", "cocinero", "Rex"},
		[]string{"%s %s es %s.", "%s %s ya no es %s.", "Me dijeron que %s %s es %s."},
	},
}

// pairs returns pairs of sentences of a language: the first says what is so, the second is about the same kind of thing,
// of somebody else, in another clause, or with another value.
func (o *owned) pairs() [][2]string {
	var out [][2]string
	for i, thing := range o.things {
		for j, owner := range o.owners {
			first := fmt.Sprintf(o.forms[0], owner, thing, o.values[(i+j)%len(o.values)])
			for k, form := range o.forms {
				for l, other := range o.owners {
					for m := range o.values {
						about := o.things[(i+m%2)%len(o.things)]
						out = append(out, [2]string{first, fmt.Sprintf(form, other, about, o.values[(j+k+l+m)%len(o.values)])})
					}
				}
			}
		}
	}
	return out
}
