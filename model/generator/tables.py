"""Tables of many kinds, with questions by row and column. `{w}` is the row as a question names it.

A table has names of its file, the head of its first column and what stands there; then one column a line: head ~ kind of value ~
questions, with ` / ` between.
"""

import re

from generator.crosses import CROSSES

TEXT = """
[budget, expenses, spending: month: month]
rent ~ i400-2400 ~ how much rent did we pay in {w} / what was the rent in {w} / rent for {w}
groceries ~ i90-900 ~ what did we spend on groceries in {w} / how much went for groceries in {w} / {w} groceries
electricity ~ i20-300 ~ how high was the electricity bill in {w} / what did electricity cost in {w}
travel ~ i0-900 ~ how much did we spend on travel in {w} / {w} travel costs
insurance ~ i10-400 ~ what did we pay for insurance in {w} / insurance in {w}
leisure ~ i0-600 ~ how much did we spend on leisure in {w} / leisure money in {w}
savings ~ i0-900 ~ how much did we put aside in {w} / savings in {w} / what did we save in {w}

[contacts, people, addresses, friends: name: fullname]
phone ~ phone ~ what is {w}'s phone number / how can I call {w} / phone of {w} / {w} phone
email ~ email ~ what's the email of {w} / where do I write to {w} / mail address of {w}
city ~ city ~ where does {w} live / which city does {w} live in / in what town is {w}
birthday ~ daymonth ~ when is the birthday of {w} / when was {w} born / {w}'s birthday
street ~ street ~ what street does {w} live in / street of {w} / address of {w}
company ~ word ~ where does {w} work / which company is {w} with / who employs {w}

[stock, inventory, parts, warehouse: item: thing]
quantity ~ i0-900 ~ how many {w}s do we have / how many {w}s are left / quantity of {w} / how much {w} is there
price ~ money ~ what does a {w} cost / how much is the {w} / price of the {w}
shelf ~ code ~ where is the {w} / on which shelf is the {w} / shelf of the {w}
supplier ~ last ~ who delivers the {w} / from whom do we get the {w} / supplier of {w}
reorder at ~ i2-90 ~ when do we order {w}s again / reorder level of {w}
weight ~ f ~ how heavy is a {w} / weight of the {w}

[catalog, spares, shop-stock, store: name: product]
qty ~ i0-200 ~ how many {w}s do we have / how many {w}s are left / how many {w}s are in stock / how many {w}s are there / qty of the {w} / do we have any {w}s, how many
unit price ~ money ~ what does a {w} cost / how much is a {w} / unit price of the {w} / at what price do we sell the {w}
shelf ~ code ~ where is the {w} / on which shelf are the {w}s / where do we keep the {w}s
maker ~ last ~ who makes the {w} / maker of the {w} / from which company is the {w}
weight g ~ i5-9000 ~ how heavy is the {w} / weight of a {w} / how many grams has the {w}
delivered ~ date ~ when did the {w} come in / when was the {w} delivered / delivery of the {w}s

[fleet, boats, ships, vehicles: name: vessel]
captain ~ fullname ~ who is the captain of {w} / who commands {w} / captain of {w} / who steers {w}
built ~ year ~ when was {w} built / how old is {w}, when was it built / year of {w}
passengers ~ i10-900 ~ how many people fit on {w} / how many passengers may {w} take / passengers of {w}
crew ~ i2-60 ~ how many people work on {w} / how large is the crew of {w} / crew of {w}
harbor ~ city ~ where does {w} lie / which port is {w} in / home port of {w}
length m ~ i6-220 ~ how long is {w} / length of {w}
engine ~ serial ~ which engine has {w} / what drives {w} / engine of {w}

[sites, branches, offices, shops: city: city]
manager ~ fullname ~ who runs the place in {w} / who is the head in {w} / manager in {w}
phone ~ phone ~ how do I call {w} / phone number of the {w} office / what is the number in {w}
street ~ street ~ where is the one in {w} / address in {w} / in which street are we in {w}
opens ~ time ~ when does {w} open / from when is {w} open / opening time in {w}
staff ~ i2-90 ~ how many people work in {w} / how large is {w}

[duty, rota, shifts, cover: week: week]
first ~ person ~ who is on duty in week {w} / who covers week {w} / who is first in week {w}
second ~ person ~ who is the second person in week {w} / who helps in week {w} / second for week {w}
phone ~ phone ~ which phone is used in week {w} / phone in week {w}
notes ~ phrase ~ what is noted for week {w} / notes of week {w}

[standings, league, results, ranking: team: team]
played ~ i1-40 ~ how many games did {w} play / games played by {w}
won ~ i0-30 ~ how often did {w} win / how many games has {w} won / wins of {w}
lost ~ i0-30 ~ how many games did {w} lose / how often did {w} lose / defeats of {w}
points ~ i0-99 ~ how many points does {w} have / points of {w} / score of {w}
coach ~ fullname ~ who coaches {w} / who is the coach of {w} / trainer of {w}
stadium ~ name ~ where does {w} play / stadium of {w}

[flights, departures, trains, connections: number: flight]
from ~ city ~ where does {w} start / from where does {w} come
to ~ city ~ where does {w} go / destination of {w} / to which city is {w}
departs ~ time ~ when does {w} leave / at what time does {w} depart / departure of {w}
arrives ~ time ~ when does {w} get there / at what time does {w} arrive / arrival of {w}
gate ~ code ~ which gate is {w} at / gate of {w} / where do I board {w}
seats ~ i20-400 ~ how many seats has {w} / seats on {w}

[books, library, loans, shelf: title: title]
author ~ fullname ~ who wrote {w} / author of {w} / by whom is {w}
year ~ year ~ when was {w} published / from which year is {w} / year of {w}
pages ~ i80-1200 ~ how many pages has {w} / how long is {w} / pages of {w}
borrowed by ~ person ~ who has {w} / who borrowed {w} / with whom is {w}
due ~ date ~ when is {w} due / when must {w} be back / until when is {w} lent
genre ~ choice:novel,history,poetry,crime,travel ~ what kind of book is {w} / genre of {w}

[staff, employees, team, members: name: fullname]
team ~ choice:core,web,data,sales,design,support ~ which team is {w} in / team of {w} / what group does {w} belong to
office ~ code ~ where does {w} sit / which office has {w} / office of {w}
manager ~ fullname ~ who is the boss of {w} / to whom does {w} report / manager of {w}
started ~ date ~ since when is {w} with us / when did {w} start / first day of {w}
salary ~ i1800-9000 ~ how much does {w} earn / salary of {w} / what is {w} paid
days off ~ i0-35 ~ how many days off has {w} / holidays of {w}

[hosts, machines, servers, inventory: host: host]
ip ~ ip ~ what is the ip of {w} / which address has {w} / ip address of {w}
os ~ choice:debian 12,ubuntu 24.04,alpine,fedora 41,freebsd ~ what runs on {w} / which system has {w} / os of {w}
ram ~ mem ~ how much memory has {w} / ram of {w}
rack ~ code ~ in which rack is {w} / where does {w} stand / rack of {w}
cores ~ i1-96 ~ how many cores has {w} / cores of {w}
owner ~ person ~ who looks after {w} / who owns {w} / responsible for {w}

[plants, beds, seeds, greenhouse: plant: plant]
water ~ choice:daily,weekly,twice a week,rarely ~ how often do I water the {w} / when does the {w} need water / watering of {w}
light ~ choice:full sun,shade,half shade ~ how much light does the {w} need / light for {w}
sown ~ date ~ when did we sow the {w} / sowing date of {w}
bed ~ code ~ in which bed is the {w} / where does the {w} grow
height cm ~ i5-300 ~ how tall does the {w} get / height of {w}

[exams, tests, courses, lessons: subject: subject]
date ~ date ~ when is the {w} exam / on which day is {w} / date of {w}
room ~ code ~ in which room is {w} / where is the {w} exam / room for {w}
examiner ~ fullname ~ who holds {w} / who examines {w} / who gives {w}
minutes ~ i30-240 ~ how long is the {w} exam / how many minutes does {w} take
credits ~ i1-15 ~ how many credits does {w} give / credits for {w}
grade ~ choice:1.0,1.3,1.7,2.3,3.0,A,B,C ~ what did I get in {w} / grade in {w} / how did I do in {w}

[rooms, halls, meeting-rooms, venues: room: room]
floor ~ i0-9 ~ on which floor is {w} / floor of {w}
seats ~ i4-300 ~ how many people fit into {w} / seats in {w} / how big is {w}
projector ~ yesno ~ does {w} have a projector / is there a projector in {w}
booked by ~ person ~ who booked {w} / who has {w}
key ~ code ~ which key opens {w} / key for {w}

[orders, sales, invoices, deliveries: order: order]
customer ~ fullname ~ who ordered {w} / whose order is {w} / customer of {w}
status ~ choice:open,paid,shipped,returned,late ~ what is the state of {w} / how is {w} doing / status of {w}
total ~ money ~ how much is {w} / what does {w} come to / total of {w}
shipped ~ date ~ when was {w} sent / when did {w} ship
items ~ i1-40 ~ how many things are in {w} / items of {w}

[measurements, samples, readings, assays: sample: sample]
ph ~ f ~ how acid is {w} / what ph has {w} / ph of {w}
temperature ~ f ~ how warm is {w} / temperature of {w}
mass g ~ f ~ what is the mass of {w} / how much does {w} weigh
taken by ~ fullname ~ who took {w} / by whom was {w} taken
depth m ~ i1-400 ~ from what depth is {w} / how deep was {w} taken
density ~ f ~ how dense is {w} / density of {w}

[races, runs, laps, rides: runner: fullname]
time ~ clock ~ how long did {w} need / what was the time of {w} / how fast was {w}
place ~ i1-90 ~ which place did {w} get / on which rank did {w} finish / place of {w}
club ~ word ~ for which club does {w} run / club of {w}
bib ~ i1-900 ~ what number does {w} wear / bib of {w}

[pets, animals, patients, zoo: name: person]
species ~ choice:cat,dog,rabbit,parrot,goat,tortoise ~ what animal is {w} / what kind of animal is {w} / species of {w}
weight ~ f ~ how heavy is {w} / how much does {w} weigh
vet ~ last ~ which vet sees {w} / vet of {w}
chip ~ serial ~ what is the chip number of {w} / chip of {w}
born ~ year ~ how old is {w}, when was it born / birth year of {w}
food ~ choice:hay,fish,seeds,dry food,leaves ~ what does {w} eat / food of {w}

[subscriptions, plans, contracts, licences: service: word]
price ~ money ~ how much do we pay for {w} / price of {w} / what does {w} cost a month
renews ~ date ~ when does {w} renew / when is {w} extended / renewal of {w}
account ~ email ~ which account is {w} on / under what mail is {w}
seats ~ i1-90 ~ how many seats has {w} / seats of {w}
cancel by ~ date ~ until when can we cancel {w} / cancel date of {w}

[tasks, issues, tickets, todo: ticket: ticket]
assignee ~ person ~ who works on {w} / who has {w} / to whom is {w} assigned
priority ~ choice:low,high,urgent,normal ~ how urgent is {w} / priority of {w}
state ~ choice:open,blocked,done,review ~ is {w} done / what is the state of {w} / how far is {w}
estimate ~ dur ~ how long will {w} take / estimate for {w}
opened ~ date ~ when was {w} opened / since when is {w} open

[weather, rainfall, climate, temperatures: city: city]
rain mm ~ i0-300 ~ how much did it rain in {w} / rain in {w}
high ~ i-5-42 ~ how hot did it get in {w} / highest temperature in {w}
low ~ i-25-20 ~ how cold was it in {w} / lowest temperature in {w}
wind ~ i0-120 ~ how strong was the wind in {w} / wind in {w}
sunshine hours ~ i0-320 ~ how many hours of sun had {w} / sunshine in {w}

[menu, dishes, recipes, lunch: dish: dish]
price ~ money ~ how much is the {w} / what does the {w} cost / price of {w}
calories ~ i80-1500 ~ how many calories has the {w} / calories of {w}
cook ~ person ~ who cooks the {w} / who makes the {w}
minutes ~ i5-180 ~ how long does the {w} take / how many minutes for the {w}
allergens ~ choice:nuts,milk,gluten,none,egg ~ what is in the {w} that people react to / allergens in {w}
"""

NAMED = {
    "team": "Falcons,Otters,Harbor United,Red Comets,North Stars,Badgers,Old Mill,River Kings,Sparrows,Hill Town,Ravens,Blue Sharks",
    "title": "The Long Tide,Winter Bees,A House of Salt,Nine Lanterns,The Quiet Engine,Paper Rivers,Ashes of Corn,Under the Quince,The Glass Orchard,Slow Thunder,Night Ferry,The Map Thief,Stone Choir,Half a Moon",
    "subject": "algebra,biology,statistics,latin,geometry,chemistry,history,logic,optics,linguistics,anatomy,economics,music theory",
    "plant": "basil,tomato,chard,pumpkin,lavender,fennel,rosemary,bean,beet,sunflower,thyme,leek,sorrel,radish",
    "dish": "goulash,ramen,risotto,shakshuka,paella,lasagne,dal,pierogi,moussaka,chowder,falafel,quiche,strudel,gazpacho",
    "vessel": "Astra,Bellona,Calypso,Dorothea,Esperanza,Fjordland,Gudrun,Halcyon,Isolde,Juno,Kestrel,Lorelei,Minerva,Nereid,Ondine,Sirius,Thalassa,Undine,Viking Star,Sea Otter",
    "room": "Kepler,Curie,Room 101,Blue Room,Atrium,Library,Turing,Galileo,Hall A,Noether,Studio,Attic,Hopper",
    "month": "January,February,March,April,May,June,July,August,September,October,November,December",
}


def parsed(text):
    """[(file names, first head, its kind, [(head, kind, questions)])]."""
    found = []
    for block in text.strip().split("\n\n"):
        head, *lines = block.split("\n")
        names, key, kind = re.fullmatch(r"\[(.*): ([\w ]+): (\w+)\]", head).groups()
        columns = [tuple(line.split(" ~ ")) for line in lines]
        found.append((names.split(", "), key, kind, [(c, k, q.split(" / ")) for c, k, q in columns]))
    return found


TABLES = parsed(TEXT) + CROSSES
