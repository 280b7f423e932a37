"""General questions whose answers the base model gives itself (distill.py), so that it stays what it was."""

import random

THINGS = """an atom|a volcano|a rainbow|an earthquake|a black hole|a vaccine|a virus|a poem|a novel|a mortgage|inflation|democracy|a constitution|an ecosystem|evolution|electricity|a battery|a magnet|sound|light|energy|a molecule|DNA|a cell|the moon|a comet|a glacier|a desert|a rainforest|an island|a river|rain|snow|wind|a cloud|the ozone layer|a whale|a dolphin|a penguin|an octopus|a spider|a butterfly|a bee|an ant|an elephant|a tiger|a horse|a cat|a dog|bread|cheese|chocolate|coffee|tea|pasta|rice|sushi|pizza|olive oil|a sonnet|jazz|classical music|opera|a symphony|a guitar|a piano|painting|sculpture|photography|theatre|ballet|football|chess|tennis|swimming|yoga|meditation|sleep|exercise|a healthy diet|vitamins|protein|stress|happiness|friendship|love|courage|patience|honesty|philosophy|logic|mathematics|algebra|geometry|statistics|probability|physics|chemistry|biology|geology|astronomy|psychology|economics|history|archaeology|linguistics|grammar|a noun|a verb|an adjective|a metaphor|the alphabet|printing|the wheel|the telephone|television|radio|a computer|a robot|artificial intelligence|machine learning|a search engine|an email|a password|encryption|a bicycle|a train|an airplane|a ship|a bridge|a castle|a pyramid|a museum|a library|a school|a university|a hospital|a bank|money|a tax|trade|a market|a company|a contract|a law|a court|an election|a president|a king|an empire|the Renaissance|the Industrial Revolution|the Roman Empire|ancient Greece|the Middle Ages|a calendar|time|a clock|a season|summer|winter|spring|autumn|recycling|climate change|solar power|wind power|nuclear energy|oil|coal|gold|silver|iron|copper|glass|plastic|paper|wood|cotton|wool|silk|a garden|a tree|a flower|a seed|a fruit|a vegetable|an apple|a banana|a tomato|a potato|salt|sugar|honey|milk|an egg|water|air|fire|soil|oxygen|carbon dioxide|hydrogen|the human heart|the brain|blood|a bone|a muscle|the skin|the eye|the ear|a dream|memory|language|culture|religion|art|science|technology|education|a hobby|a holiday|travel|a map|a compass|a telescope|a microscope|a camera|a mirror|a lamp|a candle|a umbrella|a hat|a shoe""".split(
    "|"
)
PEOPLE = """Albert Einstein|Isaac Newton|Marie Curie|Charles Darwin|Galileo Galilei|Leonardo da Vinci|Ludwig van Beethoven|Wolfgang Amadeus Mozart|Johann Sebastian Bach|Vincent van Gogh|Pablo Picasso|William Shakespeare|Jane Austen|Charles Dickens|Mark Twain|Leo Tolstoy|Homer|Plato|Aristotle|Socrates|Julius Caesar|Cleopatra|Napoleon|George Washington|Abraham Lincoln|Mahatma Gandhi|Nelson Mandela|Martin Luther King|Queen Victoria|Alexander the Great|Christopher Columbus|Neil Armstrong|Ada Lovelace|Alan Turing|Thomas Edison|Nikola Tesla|Alexander Fleming|Louis Pasteur|Stephen Hawking|Confucius""".split(
    "|"
)
DOING = """learning a language|saving money|sleeping better|staying healthy|cooking pasta|baking bread|growing tomatoes|reading more books|writing a letter|giving a talk|preparing for an exam|running a marathon|learning to swim|playing the guitar|making friends|being on time|cleaning the house|washing clothes|choosing a gift|planning a trip|working from home|reducing stress|drinking more water|painting a wall|fixing a bicycle|training a dog|taking photos|learning to code|naming variables|writing good emails""".split(
    "|"
)
LISTS = """colors|animals|fruits|vegetables|countries in Europe|countries in Asia|planets|oceans|continents|programming languages|musical instruments|sports|birds|trees|flowers|metals|languages|rivers|mountains|cities in France|cities in Italy|famous scientists|famous painters|days of the week|months|tools|vehicles|spices|drinks|board games""".split(
    "|"
)
WORDS = """happy|quick|bright|silent|ancient|modern|brave|gentle|curious|honest|frequent|rare|obvious|complex|simple|fragile|reliable|generous|abstract|concrete""".split(
    "|"
)


def all_questions():
    r = random.Random(7)
    made = []
    for x in THINGS:
        made += [
            f"What is {x}?",
            f"Tell me about {x}.",
            f"Explain {x} in one sentence.",
            f"Why is {x} important?",
            f"Give me one fact about {x}.",
            f"Describe {x} briefly.",
            f"Write a sentence about {x}.",
            f"Write a short poem about {x}.",
            f"What do you know about {x}?",
            f"what can you tell me about {x}",
            f"Is {x} useful?",
            f"How would you explain {x} to a child?",
        ]
    for x in PEOPLE:
        made += [
            f"Who was {x}?",
            f"What is {x} known for?",
            f"Tell me about {x}.",
            f"When did {x} live?",
            f"Why is {x} famous?",
        ]
    for x in DOING:
        made += [
            f"Give me a tip for {x}.",
            f"What helps with {x}?",
            f"Any advice on {x}?",
            f"Give me three tips for {x}.",
            f"Is {x} hard?",
            f"How do I get started with {x}?",
        ]
    for x in LISTS:
        made += [
            f"Name three {x}.",
            f"List five {x}.",
            f"Give me some {x}.",
            f"What are some {x}?",
            f"Tell me two {x}.",
        ]
    for x in WORDS:
        made += [
            f"What does {x} mean?",
            f"Give me a synonym for {x}.",
            f"Use the word {x} in a sentence.",
            f"Define {x}.",
        ]
    r.shuffle(made)
    return made
