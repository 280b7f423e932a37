"""Tables whose columns are all of one kind, such as prices for children and for adults: a question names a row and a column.

File names; the head of the rows; rows; columns; what stands in the cells; questions with `{w}` for the row and `{c}` for the column.
"""

TEXT = """
[fares, tickets, prices: ticket: single,return,day pass,weekly pass,monthly pass,ten rides,family card: adult,child,student,senior: money]
what does a {w} cost for a {c} / how much is a {w} for {c}s / how much is the {w} for a {c} / {c} price of a {w} / what do {c}s pay for a {w} / {w} for a {c} / what's the {c} {w}

[repairs, workshop, services: job: new chain,wheel truing,brake pads,tube change,full service,gear tuning,cleaning: road bike,e-bike,city bike,cargo bike: money]
what does {w} cost for a {c} / how much is {w} on a {c} / how much do we take for {w} on a {c} / {w} price for a {c} / what do I pay for {w} with a {c}

[postage, shipping, parcels: zone: inland,Europe,overseas,islands,Asia,Africa: letter,small parcel,large parcel,express: money]
how much is a {c} to {w} / what does a {c} to {w} cost / price of a {c} for {w} / what do I pay to send a {c} to {w}

[roster, rota, duties: week: 1,2,3,4,5,6,11,12,17,21,22,23,30,31,40,44,48,51: opens,closes,cleans,cooks: person]
who {c} in week {w} / who {c} week {w} / week {w}, who {c} / which person {c} in week {w}

[hours, opening, times: day: Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday: pool,sauna,library,museum,cafe,workshop: span]
when is the {c} open on {w} / opening hours of the {c} on {w} / when can I go to the {c} on {w} / {c} times on {w}s / how long is the {c} open on {w}

[doses, medicine, dosage: drug: ibuprofen,aspirin,paracetamol,cetirizine,iron,magnesium: adult,child,baby,dog: mg]
how much {w} for a {c} / what dose of {w} does a {c} get / {c} dose of {w} / how much {w} may a {c} take

[rooms, hotel, rates: season: spring,summer,autumn,winter,christmas,easter: single room,double room,suite,cottage: i40-400]
what does a {c} cost in {w} / how much is the {c} at {w} / {w} price of a {c} / {c} in {w}, how much

[sizes, measures, clothing: size: XS,S,M,L,XL,XXL: chest,waist,hips,sleeve: i40-130]
what {c} has size {w} / how wide is the {c} in size {w} / {c} of size {w} / which {c} measure belongs to size {w}

[stops, timetable, bus: stop: Harbor,Main Square,Station,Hospital,Old Mill,School,Airport: line 1,line 2,line 7,night bus: time]
when does {c} stop at {w} / at what time is {c} at {w} / when does the {c} leave {w} / {c} at {w}, when

[yields, harvest, crops: year: 2018,2019,2020,2021,2022,2023,2024,2025: apples,pears,plums,walnuts,potatoes,onions: i10-900]
how many {c} did we pick in {w} / how much {c} did we get in {w} / {c} in {w} / harvest of {c} in {w}

[fees, rent, tariffs: thing: canoe,tent,kayak,bicycle,projector,trailer,ladder: hour,day,weekend,week: i3-300]
what does a {w} cost for a {c} / how much is a {w} per {c} / {w} for one {c} / price of a {w} by the {c}

[limits, plans, tiers: plan: free,basic,plus,team,business: users,projects,storage,requests,seats: i1-5000]
how many {c} does the {w} plan have / {c} limit of the {w} plan / how many {c} do I get with {w} / {c} on the {w} plan

[scores, results, grades: pupil: Aino,Boris,Chiara,Esra,Finn,Gitte,Imke,Lior,Magda,Nour,Orla,Pelle: maths,history,music,physics,art: i1-100]
what did {w} get in {c} / how many points has {w} in {c} / {w}'s {c} result / how did {w} do in {c}

[baking, oven, cooking: food: bread,rolls,pizza,cake,quiche,potatoes,fish: fan oven,gas oven,grill,microwave: i5-120]
how long does {w} take in the {c} / how many minutes is {w} in the {c} / {c} time for {w} / how long do I leave the {w} in the {c}

[shifts, teams, desk: day: Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday: early,late,night: fullname]
who has the {c} shift on {w} / who works {c} on {w} / {c} shift on {w} / who is on {c} duty on {w}
"""


def parsed(text):
    """As the tables of `tables.py`."""
    found = []
    for block in text.strip().split("\n\n"):
        head, asked = block.split("\n")
        names, key, rows, columns, kind = head.strip("[]").split(": ")
        questions = asked.split(" / ")
        heads = [(c, kind, [q.replace("{c}", c) for q in questions]) for c in columns.split(",")]
        found.append((names.split(", "), key, "choice:" + rows, heads))
    return found


CROSSES = parsed(TEXT)
