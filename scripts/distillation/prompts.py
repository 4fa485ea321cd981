"""Generic beginnings of user turns and texts; the target itself writes how they go on.

Data only. None is taken from an evaluation set: `evaluate` prints the overlap.
A beginning never ends in a space, because tokens carry their space in front.
"""

from collections.abc import Mapping
from random import Random

LANGUAGES = ("German", "French", "Spanish", "Italian", "Portuguese", "Dutch")

TOPICS = (
    "the ocean", "photosynthesis", "the stock market", "black holes", "the Roman Empire",
    "machine learning", "healthy cooking", "the human heart", "electric cars", "the water cycle",
    "computer networks", "volcanoes", "renewable energy", "the French Revolution", "vaccines",
    "chess", "gardening", "satellites", "robotics", "jazz music", "the immune system",
    "databases", "public libraries", "bees", "bridges", "encryption", "inflation",
    "the printing press", "glaciers", "football", "sleep", "coffee", "microprocessors", "poetry",
)  # fmt: skip

USER_TURN_STEMS: Mapping[str, tuple[str, ...]] = {
    "translation": (
        "Translate the following sentence from {language} into English:",
        "Translate the following sentence from English into {language}:",
        "How do you say this in {language}:",
        'Please give me the English translation of this {language} text: "',
        "I need an English version of this German sentence: Die",
        "I need an English version of this German sentence: Der",
        "Put this German sentence into English: In den letzten Jahren",
        'What does this mean in English? "Es gibt',
        'What does this mean in English? "Wir haben',
        "Render this French sentence in English: Le gouvernement",
        "Render this French sentence in English: Les",
        "Write this Spanish sentence in English: La ciudad",
        'Translate into English, please. "Nach dem',
    ),
    "summarization": (
        "Summarize this paragraph:",
        "Summarize the following news report in two sentences:\n\nPolice",
        "Summarize the following news report:\n\nThe",
        "Give me a short summary of this article about {topic}:\n\n",
        "Write a one-sentence summary of the text below.\n\n",
        "What are the main points of this passage?\n\n",
        "Condense the text into three bullet points:\n\nA new study",
        "Shorten this story for me:\n\nOn Monday,",
        "TL;DR for the following:\n\nThe company",
    ),
    "reading": (
        "Answer the question using the passage:\n\nPassage:",
        "Read the text and answer the question.\n\nText: {topic} ",
        "Use the documents below to answer my question.\n\nDocument 1:",
        "Based only on this context, answer briefly.\n\nContext: The",
        "Here is some background about {topic}:",
        "Passage: In 19",
    ),
    "question": (
        "Who was the first person to",
        "When did the",
        "Where is the",
        "What year was",
        "How many people",
        "What is the capital of",
        "Which country",
        "What is the name of the",
        "How does {topic} work?",
        "Why is {topic} important?",
    ),
    "math": (
        "Solve step by step:",
        "Solve this word problem. A farmer has",
        "Solve this word problem. Maria buys",
        "A train travels",
        "Tom has 12",
        "If a shop sells",
        "There are 24 students",
        "Each box contains",
        "Anna earns $",
        "Compute the area of",
        "What is the sum of",
        "Find x if",
        "A recipe needs",
        "How much money does",
    ),
    "code": (
        "Write a Python function that",
        "Write a SQL query that",
        "Write a JavaScript function to",
        "Explain this code:\n\n```python\ndef",
        "Fix the bug in this program:\n\n```python\nfor",
        "Implement a class in Python for",
        "How do I sort a list in",
        "Write a C++ program that",
    ),
    "writing": (
        "Write a short story about",
        "Write an email to my",
        "Write a poem about {topic}",
        "Compose a blog post about {topic}",
        "Draft a speech on",
        "Rewrite the following text in a formal tone:",
        "Imagine you are a",
        "Act as a travel guide and",
        "Play the role of a teacher and explain {topic}",
        "Pretend to be a detective who",
        "Describe a scene in which",
        "Write a product review for",
        "Give me five ideas for",
    ),
    "explanation": (
        "Explain {topic} to a beginner.",
        "What are the advantages and disadvantages of {topic}?",
        "Describe the history of {topic}.",
        "Compare {topic} and {topic}.",
        "List the most important facts about {topic}.",
        "What is the difference between",
        "Give me some advice on",
        "How can I learn more about {topic}?",
        "Tell me about {topic}",
        "Can you explain why",
        "Extract the names and places from this text:",
        "Classify the sentiment of this review:",
        "What would happen if",
    ),
}

# Weights out of all user turns; the rest are written by the model from their first token on.
STEM_WEIGHTS: Mapping[str, float] = {
    "translation": 0.11,
    "summarization": 0.10,
    "reading": 0.10,
    "question": 0.08,
    "math": 0.10,
    "code": 0.05,
    "writing": 0.08,
    "explanation": 0.08,
}

TEXT_OPENINGS = (
    "Scientists have discovered", "The history of {topic} begins", "In recent years, {topic}",
    "Technology is", "One of the main reasons why", "A computer is", "Once upon a time,",
    "The most important thing about {topic} is", "Researchers at the university",
    "The internet has changed", "Energy is", "The planet", "Chapter 1\n\n",
    "When engineers design", "A good leader", "Software developers often", "The brain",
    "Water is", "In the year 20", "Modern medicine", "The theory of", "Robots", "Smartphones",
    "The moon", "Space exploration", "Many students", "Data centers", "Cells are",
    "A neural network", "Climate", "The economy", "It is well known that {topic}",
    "Quantum physics", "Cars of tomorrow", "Digital privacy", "She opened the door and",
    "import numpy as np\n\n", "def ", "# Introduction\n\n", "Question:", "How to",
    "Abstract\n\nThis paper", "The impact of {topic} on society", "Social media", "Education",
    "Artificial", "Genetics", "Our solar system", "Electricity", "The invention of", "Biologists",
    "Chemistry is", "In mathematics,", "The city of", "My favorite", "There are several ways to",
    "People who", "If you want to", "The next generation of", "Batteries", "Weather",
)  # fmt: skip


def user_turn_stem(rng: Random) -> str:
    """Draws how a user turn begins; often empty, so that the model begins it too."""
    drawn = rng.random()
    for task, weight in STEM_WEIGHTS.items():
        if drawn < weight:
            return _filled(rng.choice(USER_TURN_STEMS[task]), rng)
        drawn -= weight
    return ""


def text_opening(rng: Random) -> str:
    """Draws the first words of a plain text."""
    return _filled(rng.choice(TEXT_OPENINGS), rng)


def _filled(stem: str, rng: Random) -> str:
    while "{topic}" in stem:
        stem = stem.replace("{topic}", rng.choice(TOPICS), 1)
    return stem.replace("{language}", rng.choice(LANGUAGES))
