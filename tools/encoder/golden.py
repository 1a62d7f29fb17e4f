"""Writes the results of the reference implementation for sixty texts, for the tests of
internal/encoder: ids and words by the "tokenizers" library, vectors by transformers and
torch on the CPU, in float32.

usage: golden.py MODEL_DIR OUTPUT_DIR

MODEL_DIR is the published model (all-MiniLM-L6-v2) with its tokenizer.json. The output is
golden.json. A text that repeats a part is written as the part and the count.
"""

import base64
import json
import pathlib
import sys

import torch
from tokenizers import Tokenizer
from transformers import AutoModel

MAX_TOKENS = 256  # the length that the model was trained with

# The token vectors are kept for these texts.
WITH_HIDDEN = {"The keys are in the blue bowl by the door.", "我們明天早上去爬山。"}

TEXTS = [
    # Everyday English.
    "The keys are in the blue bowl by the door.",
    "I moved to Lisbon last spring, and I still miss my old bakery.",
    "Can you remind me to water the tomatoes on Thursday?",
    "My sister's wedding is on 14 June 2025 at 3:30 pm.",
    "She didn't like the film; he couldn't stop talking about it!",
    "We adopted a three-legged cat named Biscuit.",
    "What did the doctor say about my knee?",
    "I'm allergic to peanuts, but almonds are fine.",
    "ok",
    "Thanks.",
    "HELLO WORLD",
    "The quick brown fox jumps over the lazy dog.",
    "user: please book the 7.15 train to Leeds\nassistant: Done, seat 23A.",
    "Grandpa used to restore antique clocks in the garage every weekend.",
    "He ran 42.195 km in 3h 58m 12s.",
    "Price: $1,299.99 (was $1,499) - 13% off",
    "Meet me at https://example.org/cafe?table=4#window or mail jo@example.org",
    "func main() { fmt.Println(\"hi\"); x := a[i] * 2 }",
    "C:\\temp\\notes.txt and /var/log/syslog",
    "antidisestablishmentarianism and floccinaucinihilipilification",
    "Mx. O'Brien-Łukasiewicz met Dr. Nguyễn at the Café Müller.",
    "resume résumé resumé",
    "Two  spaces,\ttabs\tand\r\nline ends   everywhere ",
    "Wait... what?! No way -- really?",
    "The meeting moved from Tuesday to the day after tomorrow.",
    # Other languages.
    "Der Zug nach Köln fährt um halb acht von Gleis drei.",
    "J'ai oublié mon parapluie chez Élodie hier soir.",
    "¿Dónde está la biblioteca más cercana?",
    "A minha avó faz o melhor pão de queijo.",
    "Il gatto dorme sempre sulla sedia più comoda.",
    "Wij gaan zaterdag met de fiets naar Utrecht.",
    "Jag åker till Göteborg över helgen.",
    "W zeszłym roku byliśmy w Zakopanem na nartach.",
    "Yarın sabah İstanbul'a uçuyorum, IĞDIR'a değil.",
    "Завтра утром мы едем на дачу к бабушке.",
    "Αύριο θα πάμε στη θάλασσα με τους φίλους μας.",
    "我們明天早上去爬山。",
    "我喜欢喝绿茶,不喜欢咖啡。",
    "明日の朝、京都へ行きます。カメラを忘れないで!",
    "내일 아침에 부산으로 출발해요.",
    "मुझे चाय बहुत पसंद है।",
    "ฉันชอบกินข้าวผัด",
    "Tôi đã học tiếng Việt được hai năm.",
    "غدا نسافر إلى القاهرة بالقطار.",
    "שלום, מה שלומך היום?",
    "Mixed 中文 and English, с русским и עברית.",
    # Not sentences.
    "",
    " \t\n ",
    "\u0000\u0001\u0007\u007f\u0080\u009f",
    "zero\u200bwidth\u200djoiner\ufeffand\u00adhyphen",
    "bad \ufffd char and \u2028 line \u3000 space",
    "😀😃🎉🎂",
    "Happy birthday 🎂 to 👩‍👩‍👧‍👦 from 🇵🇹!",
    "\u202eright to left override\u202c",
    "full width ABC 123 and ﬁ ligature",
    "豈更車賈 compatibility 𠀀𠀁 beyond",
    "A [CLS] of [SEP]arate [MASK]s [cls] [[UNK]]",
    ("x", 10_000),
    ("a" * 100 + " " + "b" * 101 + " ", 1),
    ("The harbour was full of small boats, and every one had a name. ", 60),
]


def byte_offset(text, at):
    return len(text[:at].encode())


def main():
    model_dir, output = sys.argv[1], pathlib.Path(sys.argv[2])
    tokenizer = Tokenizer.from_file(model_dir + "/tokenizer.json")
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    model = AutoModel.from_pretrained(model_dir, dtype=torch.float32).eval()
    torch.set_num_threads(1)
    out = []
    for entry in TEXTS:
        part, times = entry if isinstance(entry, tuple) else (entry, 1)
        text = part * times
        encoding = tokenizer.encode(text)
        with torch.no_grad():
            hidden = model(input_ids=torch.tensor([encoding.ids])).last_hidden_state[0]
        vector = torch.nn.functional.normalize(hidden.mean(0), dim=0)
        # The range of a word spans all its pieces; each special token is a word.
        words = {}
        framed = list(zip(encoding.word_ids, encoding.offsets))[1:-1]
        for i, (word, (start, end)) in enumerate(framed):
            key = ("special", i) if word is None else word
            low, high = words.get(key, (start, end))
            words[key] = (min(low, start), max(high, end))
        spans = [
            [byte_offset(text, at) for at in words[("special", i) if word is None else word]]
            for i, (word, _) in enumerate(framed)
        ]
        case = {
            "text": part,
            "ids": encoding.ids,
            "words": spans,
            "truncated": bool(encoding.overflowing),
            "vector": base64.b64encode(vector.numpy().astype("<f4").tobytes()).decode(),
        }
        if times > 1:
            case["times"] = times
        if part in WITH_HIDDEN:
            case["hidden"] = base64.b64encode(hidden.numpy().astype("<f4").tobytes()).decode()
        out.append(case)
    assert len(out) == 60, len(out)
    with open(output / "golden.json", "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=True) for c in out) + "\n]\n")


main()
