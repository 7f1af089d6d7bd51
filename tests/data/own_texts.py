"""Texts of our own: many scripts, code, emoji, runs of everything; the same ones in every run.

The sentences are written for these tests. Documents are drawn from them by seeded generators, so
that a checkout without ../shared has as many different texts as a test asks for.
"""

import json
import random
import string

ENGLISH = (
    "The ferry leaves the harbour at seven, whether or not the mail has come.",
    "She didn't say they'd won; she said they'll have played 12 of 38 matches by 3:45 p.m.",
    "A loaf costs 2.40, two cost 4.50, and nobody has ever asked for three.",
    "Rain fell on the roofs of the town, on the market, and on everyone's plans.",
    "We're sure I've seen that lighthouse before: it's the one that's on the stamp.",
    "When the counting was done, the clerk counted again, and the number was another.",
    "An engine that cannot be stopped is not finished, however well it starts.",
    "Nothing was missing from the box except the thing that was written on the lid.",
    "Most of the seeds (about 73 %) came up in the first week of April 1987.",
    "What do you do with a map of a place that isn't there any more?",
    "The teacher wrote x^2 + y^2 = r^2 on the board and drew a very poor circle.",
    "He sold the piano, kept the stool, and played the table in the evenings.",
    "Their reply - short, polite, useless - arrived nine days later by post.",
    "Every river in this atlas flows to the left, which is a printer's mistake.",
    "MODEL NO. 7-B: KEEP DRY. DO NOT OPEN WHILE HOT. SEE PAGE 114.",
    "\u201cNo,\u201d said the baker, \u201cthe other door \u2014 the green one\u2026\u201d",
)

LANGUAGES = {
    "de": (
        "Die Fähre fährt um sieben Uhr ab, auch wenn die Post noch nicht da ist.",
        "Größere Äpfel gibt es erst im späten Herbst, sagt die Bäuerin.",
        "Straßenbahnhaltestellenüberdachung ist ein langes, aber gewöhnliches Wort.",
    ),
    "fr": (
        "L’été dernier, nous avons déménagé près d’une façade peinte en bleu.",
        "Où est passée la clef du grenier\u00a0? Personne ne l’a vue depuis Noël.",
    ),
    "es": (
        "¿Quién dejó abierta la ventana? El niño dijo que el viento, ¡cómo no!",
        "Mañana comeremos pingüinos de chocolate en la plaza.",
    ),
    "tr": ("İstanbul’da yağmur yağıyor, Işık şemsiyesini evde unuttu.",),
    "pl": ("Zażółć gęślą jaźń, powiedział sąsiad i poszedł spać.",),
    "vi": (
        "Người bán hàng đếm lại tiền rồi mỉm cười.",
        "Tie\u0302\u0301ng Vie\u0323\u0302t co\u0301 "
        "the\u0302\u0309 vie\u0302\u0301t ba\u0306\u0300ng da\u0302\u0301u ro\u031b\u0300i.",
    ),
    "ru": (
        "Паром отходит в семь, даже если почта ещё не пришла.",
        "Счётчик показал 1 204 кВт·ч за месяц.",
    ),
    "el": ("Ο φάρος φέγγει ακόμα και ο ΟΔΥΣΣΕΑΣ περιμένει.",),
    "ar": (
        "السفينة تغادر في الساعة السابعة، سواء وصل البريد أم لا.",
        "كَتَبَ الوَلَدُ ٥٠ سَطْرًا.",
    ),
    "he": ("המגדלור עומד על הגבעה ומחכה.",),
    "hi": ("नाव सात बजे निकलती है, डाक आए या न आए।",),
    "th": ("เรือออกเวลาเจ็ดโมงเช้าไม่ว่าจะมีจดหมายหรือไม่",),
    "zh": (
        "渡轮七点开船，不管邮件到没到。",
        "图书馆里有三十八本书，只有一本在标题里写错了字。",
    ),
    "ja": (
        "フェリーは七時に出ます。手紙が届いても届かなくても。",
        "\uff76\uff9e\uff97\uff7dの灯台と、か\u3099くせいの地図。",
    ),
    "ko": (
        "배는 일곱 시에 떠납니다. 우편물이 와도 안 와도 그렇습니다.",
        "\u1112\u1161\u11ab\u1100\u1173\u11af\u1109\u1169\u1105\u1175",
    ),
}

CODE = (
    "def ferry(hour, mail=None):\n    if hour < 7:\n        return None\n"
    "    return f'{hour:02d}:00' + (mail or '')\n",
    "for (size_t i = 0; i < rows.size(); ++i) {\n\tsum += rows[i]->length();  // in bytes\n}\n",
    "SELECT name, COUNT(*) AS n FROM ports WHERE depth_m >= 12.5 GROUP BY name ORDER BY n DESC;\n",
    '{"id": 17, "tags": ["a", "b\\n"], "ratio": 1.5e-3, "none": null}\n',
    "<div class=\"row\">&nbsp;<a href='https://example.org/?q=1&r=%20'>link</a></div>\r\n",
    "#!/bin/sh\nset -eu\ngrep -rn 'TODO' ./src | sort -u > /tmp/out.txt 2>&1\n",
    'x = [0xFF, 0b1010, 1_000_000, -3.14e+08]\nassert x[0] != x[-1], "differ"\n',
)

ODD = (
    "",
    " ",
    "\n",
    "\x00",
    "\ufeffmarked",
    "a\u0301\u0327b",
    "e\u0301\u0301\u0301",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea\U0001f1ef\U0001f1f5 "
    "\U0001f44d\U0001f3fd",
    "\U0001f600\U0001f600\U0001f600 ok \u2764\ufe0f",
    "\u00bd \u2153 \u00b2 \u2460 \u2167 \u0663 \uff15",
    "\ufb01nd \ufb03 \u01c4 \u1e9e \u017f \u212a \u2126",
    "\u2028line\u2029paragraph\x85next\x0bvertical\x0cform",
    "tab\ttab\t\ttab   \t end   ",
    "  leading, and trailing  \n",
    "\u00a0no\u2007break\u202fspaces\u3000wide\u200bzero",
    "\u202eright to left\u202c",
    "\ufffd\ufffe\uffff\U0010ffff",
    "I'M HE'LL we'Ve it\u2019s '\u017f 'RE 'ntn't",
    "<|endoftext|>middle<|endoftext|>",
    "<s> </s> <unk> <pad> [CLS] [SEP] [MASK] <|im_start|>user\n<|im_end|>",
    "<| im_start |> <s <|endoftext|",
    "\u2581under\u2581 \u2581\u2581two",
    "\u0120byte\u010alevel \u0100",
    "<0x41><0x0A><0xE4>",
    "1234567890 12 345 6,789.01 -42 +7 1/2 3x4",
    "!!!???... --- *** ((())) [[]] {{}} ~~~ ``` $$$ ### @@@",
    "http://example.org/a_b-c.d?e=f&g=%41#h user@example.org C:\\dir\\file.txt",
    "\u0e01\u0e33\u0e49 \u0915\u094d\u0937 \u0dc1\u0dca\u200d\u0dbb\u0dd3",
    "\U00020000\U0002a6d6 \U0001d4d0\U0001d7d8 \U00013000",
)


def sentences() -> list[str]:
    """Every sentence, English first."""
    return [*ENGLISH, *(text for texts in LANGUAGES.values() for text in texts)]


def made_word(rng: random.Random) -> str:
    """A word that no list holds, of syllables."""
    syllables = rng.choices(("ka", "lo", "mer", "tin", "ush", "pra", "ne", "vol", "is", "qua"), k=4)
    word = "".join(syllables[: rng.randint(1, 4)])
    return rng.choice((word, word, word, word.capitalize(), word.upper()))


def document(rng: random.Random, num_chars: int = 600) -> str:
    """A document of about `num_chars` characters: prose, code, other scripts, odd places."""
    parts: list[str] = []
    size = 0
    everything = sentences()
    while size < num_chars:
        kind = rng.random()
        if kind < 0.45:
            part = rng.choice(ENGLISH)
        elif kind < 0.7:
            part = rng.choice(everything)
        elif kind < 0.8:
            part = rng.choice(CODE)
        elif kind < 0.85:
            part = rng.choice(ODD)
        elif kind < 0.95:
            part = " ".join(made_word(rng) for _ in range(rng.randint(1, 12)))
        else:
            part = str(rng.randrange(10 ** rng.randint(1, 12)))
        parts.append(part)
        parts.append(rng.choice((" ", " ", " ", "\n", "\n\n", "  ", "\t", "")))
        size += len(part) + 1
    return "".join(parts)


def documents(count: int, seed: int = 0, num_chars: int = 600) -> list[str]:
    """So many documents; a longer list begins with a shorter one of the same seed."""
    rng = random.Random(seed)
    return [document(rng, rng.randint(1, 2 * num_chars)) for _ in range(count)]


def noise(rng: random.Random, num_chars: int) -> str:
    """Code points of every plane that holds some, no surrogates."""
    ranges = (
        (0x20, 0x7F),
        (0x20, 0x7F),
        (0xA0, 0x250),
        (0x300, 0x370),
        (0x370, 0x600),
        (0x600, 0x10A0),
        (0x1100, 0x1200),
        (0x2000, 0x2070),
        (0x3000, 0x3100),
        (0x4E00, 0x9FFF),
        (0xAC00, 0xD7A4),
        (0xF900, 0xFFFE),
        (0x1F300, 0x1FA00),
        (0, 0x20),
    )
    return "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(num_chars))


def runs(size: int) -> list[str]:
    """Long texts without a place to cut, and long runs of one character."""
    rng = random.Random(5)
    return [
        "".join(rng.choices(string.ascii_lowercase, k=size)),
        "".join(rng.choices(string.ascii_letters + string.digits + "+/", k=size)),
        "a" * size,
        "ab" * (size // 2),
        "".join(rng.choices("\u4e2d\u6587\u5206\u8bcd\u3042\u30ab\u0e01", k=size // 3)),
        " " * size,
        "\n" * size,
        "\r\n\t " * (size // 4),
        "1" * size,
        "e\u0301" * (size // 3),
        "\U0001f600\u200d" * (size // 7),
    ]


def texts(num_bytes: int, seed: int = 0) -> list[str]:
    """All fixed texts, then documents and noise until there are `num_bytes` of UTF-8."""
    rng = random.Random(seed)
    found = [*ODD, *sentences(), *CODE]
    size = sum(len(text.encode()) for text in found)
    while size < num_bytes:
        text = document(rng, rng.randint(1, 3000)) if rng.random() < 0.8 else noise(rng, 60)
        found.append(text)
        size += len(text.encode())
    return found


def chats(count: int, seed: int = 0) -> list[dict[str, list[dict[str, str]]]]:
    """Conversations in messages form, one to four turns each, some with a system prompt."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        messages = (
            [{"role": "system", "content": rng.choice(ENGLISH)}] if rng.random() < 0.3 else []
        )
        for _ in range(rng.randint(1, 4)):
            messages.append({"role": "user", "content": rng.choice(sentences())})
            messages.append({"role": "assistant", "content": document(rng, 80).strip() or "Yes."})
        made.append({"messages": messages})
    return made


def json_lines(texts: list[str]) -> str:
    """One JSON object {"text": ...} a line."""
    return "".join(json.dumps({"text": text}) + "\n" for text in texts)
