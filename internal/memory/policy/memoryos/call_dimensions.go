package memoryos

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// CatalogEntry is a dimension that a profile may have.
type CatalogEntry struct {
	Name string // such as "conscientiousness"
	Han  string // its name in Chinese
}

// Catalog returns the 90 dimensions: of needs and personality, of expectations of the assistant, then of interests and style. In each of
// these groups the dimensions that MemoryOS published come first.
func Catalog() []CatalogEntry {
	var out []CatalogEntry
	for pair := range strings.SplitSeq(strings.Join(strings.Fields(dimensions), " "), ",") {
		name, han, _ := strings.Cut(strings.TrimSpace(pair), "/")
		out = append(out, CatalogEntry{name, han})
	}
	return out
}

// dimensions are those of [Catalog], as name/Chinese name.
const dimensions = `openness/开放性, conscientiousness/尽责性, extraversion/外向性, agreeableness/宜人性, neuroticism/神经质,
		physiological needs/生理需求, security/安全感, belonging/归属感, esteem/尊重, cognitive needs/认知需求, aesthetic needs/审美需求,
		self-actualization/自我实现, order/秩序, autonomy/自主, power/权力, achievement/成就,
		intimacy/亲密, novelty/新鲜感, play/玩乐, privacy/隐私, meaning/意义, fairness/公平, self-confidence/自信, resilience/韧性,
		empathy/同理心, self-discipline/自律, risk taking/冒险, competitiveness/竞争心, adaptability/适应力, perfectionism/完美主义,

		helpful/有用, honest/诚实, safe/安全, obedient to instructions/服从指令, truthful/真实, coherent/连贯, complex/深入, concise/简洁,
		friendly/友好, empathetic/体贴, patient/耐心, proactive/主动, humorous/幽默, creative/创意, personalized/个性化, discreet/保密,
		neutral/中立, encouraging/鼓励, critical/批判, step by step/循序渐进,

		science/科学, education/教育, psychology/心理学, family/家庭, fashion/时尚, art/艺术, health/健康, finance/理财, sports/运动, food/美食,
		travel/旅行, music/音乐, literature/文学, film/影视, social media/社交媒体, technology/科技, environment/环保, history/历史, politics/政治,
		religion/宗教, gaming/游戏, animals/动物,
		emotional expression/情感表达, humor/幽默感, information density/信息密度, formality/正式程度, practicality/务实,
		cooking/烹饪, photography/摄影, gardening/园艺, crafts/手工, outdoors/户外, dance/舞蹈, theater/戏剧, languages/语言, business/商业, home/家居,
		volunteering/公益, vehicles/车辆, directness/直率`

// dimensionNames maps the folded names of the catalog, in English and Chinese, to the names.
var dimensionNames = func() map[string]string {
	out := map[string]string{}
	for _, e := range Catalog() {
		out[foldDimension(e.Name)] = e.Name
		out[foldDimension(e.Han)] = e.Name
	}
	for alias, name := range map[string]string{
		"physiological": "physiological needs", "cognitive": "cognitive needs", "aesthetic": "aesthetic needs", "instruction following": "obedient to instructions",
		"movies": "film", "social network": "social media", "sport": "sports", "extroversion": "extraversion", "theatre": "theater", "self-esteem": "esteem",
	} {
		out[foldDimension(alias)] = name
	}
	return out
}()

// DimensionName returns the name in the catalog for a name that an answer uses: in any letter
// case, with hyphens or underscores for spaces, in Chinese, or in British spelling. ok is false if
// the catalog has no such dimension.
func DimensionName(s string) (name string, ok bool) {
	name, ok = dimensionNames[foldDimension(s)]
	return name, ok
}

func foldDimension(s string) string {
	s = strings.NewReplacer("_", " ", "-", " ", "isation", "ization", "ised", "ized", "humour", "humor").Replace(text.Fold(s))
	return strings.Join(strings.Fields(s), " ")
}
