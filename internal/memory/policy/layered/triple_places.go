package layered

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// knownPlaces are countries and large cities, in small letters.
var knownPlaces = placeSet(`argentina,australia,austria,belgium,brazil,bulgaria,canada,chile,china,colombia,croatia,cuba,czechia,denmark,egypt,england,estonia,ethiopia,finland,france,
germany,ghana,greece,hong kong,hungary,iceland,india,indonesia,iran,iraq,ireland,israel,italy,jamaica,japan,kenya,korea,latvia,lebanon,lithuania,luxembourg,malaysia,mexico,morocco,nepal,
netherlands,new zealand,nigeria,norway,pakistan,peru,philippines,poland,portugal,romania,russia,scotland,serbia,singapore,slovakia,slovenia,south africa,spain,sweden,switzerland,taiwan,
thailand,tunisia,turkey,uganda,ukraine,uk,usa,us,united states,united kingdom,vietnam,wales,
amsterdam,athens,atlanta,auckland,austin,baltimore,bangkok,barcelona,beijing,beirut,belgrade,berlin,bogota,boston,bristol,brooklyn,brussels,bucharest,budapest,buenos aires,cairo,
calgary,california,cape town,chengdu,chicago,cologne,copenhagen,dallas,delhi,denver,detroit,dubai,dublin,edinburgh,florence,florida,frankfurt,geneva,glasgow,guangzhou,hamburg,hangzhou,
hanoi,helsinki,houston,istanbul,jakarta,johannesburg,kyiv,krakow,kyoto,la,lagos,lima,lisbon,liverpool,london,los angeles,lyon,madrid,manchester,manila,marseille,melbourne,mexico city,
miami,milan,montreal,moscow,mumbai,munich,nairobi,nanjing,naples,nashville,new york,nyc,osaka,oslo,ottawa,paris,philadelphia,phoenix,portland,porto,prague,quebec,rio,rome,rotterdam,
san diego,san francisco,santiago,sao paulo,seattle,seoul,shanghai,shenzhen,stockholm,stuttgart,sydney,taipei,tallinn,tel aviv,texas,tokyo,toronto,valencia,vancouver,venice,vienna,
vilnius,warsaw,washington,wuhan,xian,zagreb,zurich,europe,asia,africa,antarctica,alaska,hawaii,ohio,oregon,utah,colorado,arizona,nevada,michigan,georgia,virginia,brittany,bavaria`)

// knownHanPlaces are the same in Chinese: provinces, cities and countries.
var knownHanPlaces = placeSet(`北京,上海,天津,重庆,广州,深圳,杭州,南京,苏州,武汉,成都,西安,长沙,郑州,青岛,济南,大连,沈阳,哈尔滨,长春,厦门,福州,昆明,贵阳,南宁,南昌,合肥,太原,石家庄,兰州,西宁,银川,
乌鲁木齐,拉萨,海口,三亚,宁波,温州,无锡,常州,佛山,东莞,珠海,中山,惠州,汕头,泉州,烟台,洛阳,开封,桂林,丽江,大理,香港,澳门,台北,台湾,高雄,广东,广西,湖南,湖北,河南,河北,山东,山西,江苏,浙江,安徽,
福建,江西,四川,贵州,云南,陕西,甘肃,青海,宁夏,新疆,西藏,内蒙古,辽宁,吉林,黑龙江,海南,中国,美国,英国,法国,德国,日本,韩国,加拿大,澳大利亚,新西兰,新加坡,泰国,越南,马来西亚,印度,俄罗斯,意大利,西班牙,
瑞士,瑞典,挪威,丹麦,芬兰,荷兰,比利时,奥地利,希腊,土耳其,埃及,巴西,阿根廷,墨西哥,纽约,洛杉矶,旧金山,西雅图,芝加哥,波士顿,伦敦,巴黎,柏林,慕尼黑,东京,大阪,京都,首尔,悉尼,墨尔本,多伦多,温哥华,曼谷,
罗马,米兰,马德里,巴塞罗那,莫斯科,老家,国外,国内,海外`)

func placeSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.SplitSeq(list, ",") {
		out[text.Fold(strings.TrimSpace(w))] = true
	}
	return out
}
