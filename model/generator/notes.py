"""Lines of notes, with questions that each answers; the answer is the line. `{a}`…: slots, filled by kind of value."""

import re

TEXT = """
[trip, journey, holiday, travel-plan]
Outbound: {day} {daymonth}, {flight}, {city} {time} to {town} {late} ~ when do we fly there / when does our trip begin / which flight takes us there / at what time do we leave home
Return: {day} {daymonth}, {flight}, {town} {time}, home at {late} ~ when do we fly home / which flight do we take back / when is the return flight / what time do we get back
Reservation number: {serial} ~ what is our reservation number / which number do I need for the reservation / our booking reference
Luggage: {i1-4} suitcases of {i10-30} kg ~ how much luggage can we take / how heavy may the suitcases be
Lodging: {last} guest house, {street} ~ where do we stay / where do we sleep / address of our guest house
Room is ready from {time}, leave before {late} ~ when can we get into the room / until when must we leave the room / when is check-out
Breakfast is served until {time} ~ until when is there breakfast / when is breakfast
Rental car: {word} {i1-9}, pick up at {time} ~ when do we get the rental car / which car did we rent / where is the car
Still to pay: {i20-900} euros in cash ~ how much do we still have to pay / what remains to be paid
Boat tour on {day} at {time}, pier {i1-30} ~ when is the boat tour / from which pier does the boat leave
Museum tickets for {day}, entry {time} ~ for when are the museum tickets / when can we enter the museum
Bring: {thing}, {thing} and {person}'s {thing} ~ what do we have to bring / what should I pack

[house, flat, home-notes, household]
Wifi: {word}-net, password {serial} ~ what is the wifi password / how do I get on the wifi / name of our wifi
Main water valve: behind the {thing} in the {place} ~ where do I turn off the water / where is the water valve
Boiler serviced {date} by {last} ~ when was the boiler serviced / who looked after the boiler / last service of the boiler
Bins: paper on {day}, glass on {dayb} ~ when do I put out the paper / on which day is glass collected / when are the bins emptied
Landlord: {fullname}, {phone} ~ who is our landlord / how do I call the landlord / landlord's number
Rent: {i400-1900} euros, due on day {i1-28} ~ how high is the rent / when is the rent due
Spare key: with {person} on floor {i1-9} ~ where is the spare key / who has our spare key
Meter reading {date}: {i1000-99999} ~ what did the meter show / last meter reading
Fuse for the oven: number {i1-24} ~ which fuse is for the oven / what fuse belongs to the oven
Paint in the hall: {word} {i100-999} ~ which paint is in the hall / color of the hall
Chimney sweep comes {daymonth} at {time} ~ when does the chimney sweep come
Cleaning: {person}, every {day} ~ who cleans / on what day is the cleaning

[meeting, minutes, standup, protocol]
Present: {person}, {personb}, {personc} ~ who was there / who took part in the meeting / who was present
Excused: {person} ~ who was missing / who could not come
Next meeting: {day} {daymonth}, {time}, {place} ~ when do we meet again / where is the next meeting / when is the next meeting
{person} writes the {code} report by {day} ~ who writes the report / until when is the {code} report due
Budget for the {thing}: {i200-9000} euros ~ how much may the {thing} cost / what is the budget for the {thing}
The {code} release moves to {daymonth} ~ when is the {code} release / to when did the release move
Open question: who pays for the {thing}? ~ what is still open / which question is open
{person} asks {personb} about the {code} licence ~ who asks about the licence / whom does {person} ask
Decision: we drop the {code} and keep the {codeb} ~ what did we decide / what was decided / what do we drop
Minutes by {fullname} ~ who wrote the minutes

[recipe, bread, soup, cake]
Serves {i2-12} ~ how many people is it for / for how many is this recipe / how many does it feed
Oven: {i120-260} degrees ~ how hot must the oven be / at what temperature do I bake it / oven temperature
Baking time: {i10-120} minutes ~ how long does it bake / how long must it stay in the oven / baking time
{i50-900} g flour ~ how much flour do I need / how many grams of flour
{i1-6} eggs ~ how many eggs are in it / how many eggs do I need
{i50-900} ml milk ~ how much milk goes in / how much milk do I need
{i1-9} spoons of sugar ~ how much sugar is in it / how many spoons of sugar
a pinch of {thing} ~ of what do I take a pinch
Let it rest for {i10-180} minutes ~ how long does it have to rest / how long should it stand
From {person}'s mother, {year} ~ from whom is the recipe / whose recipe is it
Goes well with {thing} sauce ~ what goes well with it / what do I serve with it
Keeps for {i1-9} days in the fridge ~ how long does it keep / how many days can I keep it

[car, bike, van, service-book]
Plate: {serial} ~ what is the number plate / what plate has the car
Tyres: {i20-40} bar front, {i20-40} bar rear ~ how much pressure do the tyres need / tyre pressure
Next inspection: {daymonth} ~ when is the next inspection / when must the car be checked
Oil: {choice:5W-30,10W-40,0W-20}, {i2-7} litres ~ which oil does it need / how much oil goes in
Insurance: {last} & Sons, policy {serial} ~ who insures the car / what is the policy number
Bought {date} for {i300-19000} euros ~ what did the car cost / when did we buy it
Workshop: {last}, {phone} ~ which workshop do we use / phone of the workshop
Tank: {i30-90} litres ~ how big is the tank / how much fits in the tank
Mileage on {date}: {i9000-210000} km ~ how many kilometres has it done / what is the mileage
Battery changed in {year} ~ when was the battery changed / how old is the battery
Winter tyres are at {person}'s garage ~ where are the winter tyres

[wedding, party, festival, event]
Doors open: {time} ~ when do the doors open / from when can people come in
Band: {word} and the {thing}s, from {time} ~ who plays / which band plays / when does the music begin
Guests: {i20-400} ~ how many people come / how many guests are there / number of guests
Catering: {last} kitchen, {i9-60} euros a head ~ who does the catering / what does the food cost / price per person
Cake: {thing} and {thingb}, from {person} ~ who makes the cake / what cake is there
Photographer: {fullname}, until {time} ~ who takes pictures / until when is the photographer there
Parking: behind the {place} ~ where can people park / where do I park
Rain plan: we move to the {place} ~ what do we do if it rains / where do we go when it rains
Speech by {person} at {time} ~ who speaks / when is the speech
Chairs come from {last}, back on {day} ~ where do the chairs come from / when must the chairs be back
Budget: {i500-19000} euros ~ how much can we spend / what is the budget

[release, changelog, notes, news]
{ver} ({date}) ~ what is the newest release / when was {ver} released
Fixed: {code} crashed when the {codeb} was empty ~ what was fixed / why did {code} crash
Added: `--{word}` for {code} ~ what was added / which option is new
Removed: the old {code} format ~ what was removed / which format is gone
Changed: {code} now waits {i2-90} seconds ~ how long does {code} wait now / what changed in {code}
Needs {word} {ver} or newer ~ which version of {word} is needed / what does it need
Thanks to {fullname} for the {code} patch ~ who is thanked / who sent the {code} patch
Known problem: {code} is slow on {word} ~ what problem is known / what is slow

[setup, install, handbook, howto]
Install with `{command}` ~ how do I install it / which command installs it
Start it with `{commandb}` ~ how do I start it / what do I run to start
The service is called {name} ~ what is the service called / name of the service
Settings are in {path} ~ where are the settings / which file has the settings
It listens on port {port} ~ which port is it on / what port does it use
Logs go to {logpath} ~ where are the logs / where do I find the log
Updates come every {day} ~ when do updates come / how often is it updated
Ask {fullname} for an account ~ who gives me an account / whom do I ask for an account
The test server is {host} ~ what is the test server / where can I test it
Default login: {login} / {serial} ~ what is the default login / with which password do I log in first
It runs as the user {login} ~ as which user does it run
Needs at least {mem} of memory ~ how much memory does it need

[Dockerfile]
FROM {image} ~ which base image is used / what image is it built on / what does it start from
EXPOSE {port} ~ which port is exposed / what port does the container open
WORKDIR {path} ~ what is the working directory / in which folder does it work
USER {login} ~ as which user does the container run / who runs it
CMD ["{word}", "{command}"] ~ what is started in the container / which command does it run
ENV {word}={serial} ~ which variable is set / what environment does it set
COPY {word} /{word} ~ what is copied / which folder is copied into the image
RUN apt-get install -y {word} {name} ~ which packages are installed / what is installed with apt
HEALTHCHECK CMD curl -f http://localhost:{port}/{word} ~ how is its health checked / what is the health check
LABEL maintainer="{email}" ~ who maintains the image / who is the maintainer

[Makefile]
VERSION = {ver} ~ what version is set / which version does it build
CC = {choice:gcc,clang,tcc,zig cc} ~ which compiler is used / what compiles it
PREFIX = {path} ~ where is it installed to / what is the prefix
JOBS = {i1-32} ~ how many jobs run at once / number of jobs
PYTHON = python{choice:3.9,3.10,3.11,3.12} ~ which python is used / what python does it take
REGISTRY = {host} ~ which registry do we push to / what is the registry
OUT = {word} ~ in which folder is the output / where does the output go
"""


def parsed(text):
    """[(file names, [(line, questions)])]."""
    found = []
    for block in text.strip().split("\n\n"):
        head, *lines = block.split("\n")
        pairs = [line.split(" ~ ") for line in lines]
        found.append((head.strip("[]").split(", "), [(line, asked.split(" / ")) for line, asked in pairs]))
    return found


NOTES = parsed(TEXT)


def slots(template):
    return re.findall(r"\{([^{}]+)\}", template)
