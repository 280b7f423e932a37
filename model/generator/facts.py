"""Things that stand in files, with questions that each answers. A question never has to use the key's own words.

A section has names for itself, then one fact a line: key ~ kind of value ~ questions, with ` / ` between. `{s}` is the section as
a question names it; where a question has it, sections of the same file may have the same key.
"""

import re

TEXT = """
[server: server, web server, app]
port ~ port ~ what port does {s} [run|listen] on / on which port can I reach {s} / {s} port / which port is {s} using / where does {s} listen
bind address ~ ip ~ what address does {s} bind to / on which ip does {s} listen / which interface is {s} bound to
workers ~ i1-64 ~ how many workers does {s} have / number of workers of {s} / how many worker processes are started for {s}
request timeout ~ dur ~ after how long does a request to {s} time out / how long may a request to {s} take / the request timeout of {s}
max connections ~ i10-5000 ~ how many connections does {s} allow / how many clients may be connected to {s} at once / connection limit of {s}
base url ~ url ~ what is the address of {s} / under which url is {s} / what's the base url of {s}
log level ~ level ~ how much does {s} log / at which level does {s} log / log level of {s}
graceful shutdown ~ dur ~ how long does {s} wait before it stops / how much time has {s} for shutting down
root folder ~ path ~ from which folder does {s} serve files / where are the files of {s} / document root of {s}
tls ~ bool ~ is {s} encrypted / does {s} use tls / is https on for {s}

[database: database, db, postgres]
host ~ host ~ which host is {s} on / where does {s} run / what machine has {s} / host of {s}
port ~ port ~ on what port is {s} / which port has {s} / {s} port
name ~ name ~ what is {s} called / name of {s} / which {s} do we connect to
user ~ login ~ as which user do we log in to {s} / what is the user name for {s} / who connects to {s} / login for {s}
password file ~ path ~ where is the password of {s} kept / in which file is the {s} password
pool size ~ i2-90 ~ how big is the connection pool of {s} / how many pooled connections does {s} have / pool size of {s}
connect timeout ~ dur ~ how long do we wait for a connection to {s} / what is the connect timeout of {s}
schema ~ word ~ which schema does {s} use / schema of {s}
ssl mode ~ choice:require,disable,prefer ~ is ssl needed for {s} / which ssl mode has {s}
max idle ~ i1-30 ~ how many idle connections may {s} keep / max idle of {s}

[cache: cache, redis, caching layer]
ttl ~ dur ~ how long are things cached / how long does {s} keep an entry / when do entries of {s} expire / ttl of {s}
max memory ~ mem ~ how much memory may {s} use / memory limit of {s} / how big can {s} get
eviction ~ choice:lru,lfu,random,none ~ how does {s} throw things out / what is the eviction policy of {s} / which entries does {s} drop first
prefix ~ word ~ what do keys of {s} start with / key prefix of {s}
host ~ host ~ where is {s} / which host has {s} / host of {s}
port ~ port ~ on which port is {s} / {s} port / what port for {s}
enabled ~ bool ~ is {s} on / do we use {s} / is {s} enabled / did somebody switch {s} off

[mail: mail, email, smtp, mail server]
server ~ host ~ which server sends our mails / what host do mails go through / what is {s} server called
sender ~ email ~ from which address do mails come / who is the sender of our mails / what is the from address
reply to ~ email ~ where do replies to our mails go / reply address
port ~ port ~ which port is used for {s} / {s} port
retries ~ i1-9 ~ how often is a mail tried again / how many times do we retry a mail
daily limit ~ i50-9000 ~ how many mails may we send a day / how many messages per day are allowed
signature ~ phrase ~ how are our mails signed / what stands under our mails

[storage: storage, disk, file store]
bucket ~ name ~ which bucket do files go to / what is the bucket called / name of the bucket
region ~ choice:eu-west-1,us-east-2,ap-south-1,eu-north-1 ~ in which region is {s} / where are our files hosted / region of {s}
max upload size ~ mem ~ how big may an upload be / what is the largest file one can upload / upload limit
path ~ path ~ where does {s} put files / in which directory are the files / folder of {s}
keep versions ~ i1-40 ~ how many versions of a file are kept / how many old versions do we keep
public ~ bool ~ can everybody see the files / is {s} public
compression ~ choice:gzip,zstd,none,lz4 ~ how are files compressed / which compression does {s} use / are files zipped

[logging: logging, log, logs]
level ~ level ~ how verbose is {s} / which level is set for {s} / what do we log / level of {s}
file ~ logpath ~ where do logs go / to which file do we log / where is the log file / log file
rotate ~ choice:daily,weekly,hourly,monthly ~ how often are logs rotated / when do we start a new log file
keep days ~ i2-400 ~ how long are logs kept / for how many days do we keep logs / after how many days are logs deleted
format ~ choice:json,plain,short,logfmt ~ in which format are logs written / what do log lines look like / log format
max size ~ mem ~ how big may a log file get / maximal size of a log
timestamps ~ bool ~ do log lines have a time / are timestamps on

[backup: backup, backups, nightly backup]
schedule ~ cron ~ when does {s} run / at what time is the backup made / backup schedule
target ~ path ~ where are backups stored / where does {s} go / backup folder
keep ~ i2-90 ~ how many backups are kept / how many backups do we hold on to
encrypt ~ bool ~ are backups encrypted / is {s} encrypted
last full ~ date ~ when was the last full backup / date of the last full backup
notify ~ email ~ who is told when {s} fails / who gets mail about backups
exclude ~ path ~ which folder is not backed up / what is left out of {s}

[auth: auth, login, sign-in]
session minutes ~ i5-900 ~ how long does a session last / after how many minutes am I logged out / session length
max attempts ~ i2-20 ~ how many wrong passwords are allowed / how often may one try to log in / login attempts allowed
password length ~ i6-32 ~ how long must a password be / minimal length of passwords / how many characters does a password need
provider ~ choice:ldap,github,google,local,keycloak ~ who signs people in / which provider do we use for {s} / what does {s} run with
token lifetime ~ dur ~ how long is a token valid / when do tokens expire / token lifetime
two factor ~ bool ~ do people need a second factor / is two factor {s} on / is 2fa required
lockout ~ dur ~ how long is an account locked / for how long are people locked out
admin ~ person ~ who is the admin / name of the administrator

[video: video, display, screen, graphics]
width ~ i320-3840 ~ how wide is the screen / horizontal resolution / width of {s}
height ~ i240-2160 ~ how high is the window / vertical resolution / height of {s}
fullscreen ~ bool ~ does it start in full screen / is fullscreen on
refresh rate ~ i30-240 ~ how many frames per second does {s} run at / refresh rate / what hz is {s} at
brightness ~ i5-100 ~ how bright is {s} / brightness of {s}
texture quality ~ choice:low,medium,high,ultra ~ how good are the textures / what quality do textures have
anti aliasing ~ choice:none,fxaa,msaa4,taa ~ which anti aliasing is used / how are edges smoothed
font size ~ i7-30 ~ how big is the text / what is the font size
theme ~ choice:dark,light,sepia,midnight ~ which colors are used / what theme is set / is it dark or light

[audio: audio, sound, speakers]
volume ~ i0-100 ~ how loud is {s} / volume of {s} / what is the volume
speech ~ i0-100 ~ how loud are the voices / speech volume
sample rate ~ choice:22050,44100,48000,96000 ~ what sample rate is used / how many samples per second
output ~ choice:headphones,speakers,hdmi,bluetooth ~ where does the sound come out / which output is {s} on / what device plays {s}
mute on start ~ bool ~ is it silent at first / does it start muted
channels ~ i1-8 ~ how many channels has {s} / is it stereo
alert tone ~ word ~ what does an alert sound like / which tone is played for alerts

[game: game, player, match]
start health ~ i10-500 ~ how much health do you begin with / health at the start / how many hit points does {s} start with
jump height ~ f ~ how high can {s} jump / jump height
run speed ~ f ~ how fast does {s} run / speed of {s}
max players ~ i2-64 ~ how many people can play / how many players fit in one {s} / player limit
round seconds ~ i30-900 ~ how long is a round / how many seconds does a round take
difficulty ~ choice:easy,normal,hard,brutal ~ how hard is {s} / which difficulty is set
respawn ~ dur ~ how long until I respawn / when does a dead player come back
gravity ~ f ~ how strong is gravity / what is gravity set to
starting gold ~ i0-900 ~ how much gold do I have at first / with how much money does one start
enemy count ~ i1-80 ~ how many enemies are there / number of enemies
first level ~ name ~ which level comes first / with what map does {s} begin

[build: build, project, package]
name ~ name ~ what is {s} called / name of {s}
version ~ ver ~ which version is it / what version do we have / version of {s} / what release is this
license ~ choice:MIT,Apache-2.0,GPL-3.0,BSD-3-Clause,ISC ~ under what license is it / how is {s} licensed / may I use it freely, what license
min version ~ ver ~ what is the oldest version that works / which version is needed at least
optimize ~ choice:speed,size,none,full ~ what is {s} optimized for / how is {s} optimized
target ~ choice:x86_64,arm64,wasm32,riscv64 ~ for which machine do we build / what platform is {s} for
jobs ~ i1-32 ~ how many jobs run at once in {s} / parallel jobs of {s}
entry point ~ path ~ where does the program start / which file is the entry point / main file of {s}
author ~ person ~ who wrote it / who made {s} / who is the author
homepage ~ url ~ where is the website of {s} / project page / what is the homepage
line length ~ i72-140 ~ how long may lines be / max line length
indent ~ choice:2,4,8,tab ~ how far do we indent / how many spaces per indent

[worker: worker, background worker, job runner]
image ~ image ~ which image does {s} run / what container image has {s} / docker image of {s}
replicas ~ i1-20 ~ how many copies of {s} run / how many replicas has {s} / number of instances of {s}
memory ~ mem ~ how much memory does {s} get / memory limit of {s} / how much ram may {s} take
cpu ~ f ~ how many cpus has {s} / cpu share of {s}
restart ~ choice:always,on-failure,never,unless-stopped ~ when is {s} restarted / what happens when {s} crashes / restart policy of {s}
queue ~ name ~ from which queue does {s} take jobs / what queue does {s} read
concurrency ~ i1-64 ~ how many jobs does {s} do at once / concurrency of {s}
command ~ command ~ how is {s} started / which command starts {s} / what does {s} execute
heartbeat ~ dur ~ how often does {s} report / heartbeat of {s}

[sensor: sensor, thermometer, probe]
interval ~ dur ~ how often does {s} measure / how frequently is {s} read / interval of {s}
unit ~ choice:celsius,kelvin,fahrenheit,percent,ppm ~ in which unit does {s} measure / unit of {s}
serial number ~ serial ~ what is the serial number of {s} / serial of {s} / which number is on {s}
calibrated ~ date ~ when was {s} calibrated / last calibration of {s}
location ~ place ~ where is {s} / in which room is {s} / where did we put {s}
threshold ~ f ~ when does {s} raise an alarm / threshold of {s} / above which value does {s} warn
battery ~ pct ~ how full is the battery of {s} / battery of {s}
firmware ~ ver ~ which firmware has {s} / firmware version of {s}
precision ~ f ~ how exact is {s} / precision of {s}

[shop: shop, store, checkout]
currency ~ choice:EUR,USD,CHF,NOK,GBP,SEK ~ in which money do we sell / what currency does {s} use / how do people pay, in euros or dollars
tax rate ~ pct ~ how much tax is added / what is the vat / tax rate
free shipping from ~ money ~ from what amount is shipping free / when do people pay no shipping / free delivery above
shipping fee ~ money ~ how much is shipping / what does delivery cost / price of sending a parcel
return days ~ i7-90 ~ how long can things be returned / how many days do customers have to send something back
max items ~ i5-200 ~ how many things fit in the basket / most items per order
support phone ~ phone ~ what number do customers call / phone of support / how can customers call us
closed on ~ day ~ on which day is {s} closed / when is {s} not open
gift wrap ~ money ~ what does wrapping cost / price of a gift wrap
discount code ~ serial ~ what is the discount code / which code gives a discount

[hours: hours, opening hours, opening times]
monday ~ span ~ when do we open on monday / what are the hours on mondays / how long are we open on monday
tuesday ~ span ~ when are we open on tuesday / tuesday opening times / until when are we there on tuesdays
wednesday ~ span ~ hours on wednesday / when do we close on wednesdays / what about wednesday
thursday ~ span ~ when is it open on thursdays / thursday hours / at what time do we shut on thursday
saturday ~ span ~ are we open on saturday / when do we open on saturdays / saturday hours
sunday ~ span ~ when are we there on sundays / is it open on sunday / sunday times
lunch break ~ span ~ when is lunch / at what time is the lunch break
last entry ~ time ~ until when can one come in / when is the last entry

[schedule: schedule, timetable, jobs]
cleanup ~ cron ~ when do we clean up / when does the cleanup run / at what time are old things removed
report ~ cron ~ when is the report made / when does the report come / schedule of the report
sync ~ cron ~ how often do we sync / when does the sync start
reindex ~ cron ~ when is the index rebuilt / reindex time
timezone ~ tz ~ which time zone is it / in what timezone are the times / time zone
first day ~ day ~ on which day does the week begin / first day of the week
holiday ~ date ~ when is the next holiday / which day is off

[user: user, profile, account]
full name ~ fullname ~ what is the name of {s} / who is {s} / whose account is it
nickname ~ login ~ what nickname has {s} / nick of {s}
email ~ email ~ how can I write to {s} / mail address of {s} / what is {s}'s email
language ~ choice:en,de,fr,es,pl,nl,sv ~ which language does {s} speak / language of {s} / in what language is it shown
birthday ~ date ~ when was {s} born / birthday of {s}
joined ~ date ~ since when is {s} here / when did {s} join
country ~ country ~ where does {s} come from / which country is {s} from
phone ~ phone ~ what number has {s} / how do I call {s} / phone of {s}
role ~ choice:admin,editor,guest,owner,viewer ~ what may {s} do / role of {s} / which rights does {s} have
newsletter ~ bool ~ does {s} get the newsletter / is {s} subscribed

[train: training, model, run]
learning rate ~ f ~ how fast does it learn / what learning rate is used / lr of {s}
epochs ~ i1-300 ~ how many epochs do we train / number of epochs / how many passes over the data
batch size ~ choice:8,16,32,64,128,256 ~ how large are batches / batch size / how many samples are in a batch
seed ~ i0-9999 ~ which seed is used / random seed
optimizer ~ choice:adam,sgd,adamw,rmsprop,lion ~ which optimizer does {s} use / how is it optimized
dropout ~ f ~ how much dropout is there / dropout of {s}
dataset ~ path ~ where does the data come from / which data do we train on / dataset
hidden size ~ i32-4096 ~ how wide is the network / hidden size of {s}
layers ~ i1-48 ~ how deep is the network / number of layers in {s}
checkpoint every ~ i10-5000 ~ how often do we save / after how many steps is a checkpoint written

[experiment: experiment, assay, trial]
operator ~ fullname ~ who runs {s} / who did {s} / operator
temperature ~ f ~ how warm is it in {s} / temperature of {s} / at how many degrees do we work
duration ~ dur ~ how long does {s} take / duration of {s}
started on ~ date ~ when did {s} begin / start of {s}
samples ~ i3-400 ~ how many samples are there / number of samples in {s}
buffer ~ choice:PBS,TRIS,HEPES,MOPS ~ which buffer is used / what is the buffer in {s}
stirring speed ~ i50-3000 ~ how fast do we stir / stirring speed
concentration ~ f ~ what concentration is used / how concentrated is it
room ~ place ~ in which room is {s} / where is {s} done
approved by ~ person ~ who approved {s} / who signed {s} off

[api: api, client, gateway]
endpoint ~ url ~ what url does {s} call / endpoint of {s} / where does {s} send requests
rate limit ~ i5-9000 ~ how many calls per minute are allowed / how often may {s} be called / rate limit of {s}
key header ~ header ~ in which header is the key sent / what is the key header called
retry delay ~ dur ~ how long does {s} wait before a retry / delay between retries
max retries ~ i0-12 ~ how often does {s} retry / how many times is a failed call repeated
user agent ~ name ~ what user agent does {s} send / as what does {s} present itself
page size ~ i5-500 ~ how many results are on a page / page size of {s}
debug ~ bool ~ is debugging on in {s} / does {s} run in debug mode
allowed origins ~ url ~ who may call {s} from a browser / which origin is allowed for {s}

[garden: garden, greenhouse, irrigation]
watering minutes ~ i2-60 ~ how long do we water / for how many minutes does the water run
watering start ~ time ~ when does the watering begin / at what time is {s} watered
pump ~ name ~ which pump is used / what pump does {s} have
soil ~ choice:loam,sand,clay,peat ~ what soil is in {s} / which kind of soil do we have
min moisture ~ pct ~ how dry may it get / lowest moisture / when is it too dry
lamp hours ~ i4-18 ~ how long are the lamps on / hours of light
fertilizer ~ choice:compost,nettle,guano,bone meal ~ what do we feed the plants / which fertilizer do we use
tank litres ~ i20-2000 ~ how big is the tank / how much water fits in the tank

[printer: printer, 3d printer, plotter]
nozzle ~ f ~ how wide is the nozzle / nozzle diameter / which nozzle is in {s}
bed temperature ~ i30-120 ~ how hot is the bed / bed temperature
layer height ~ f ~ how thick is a layer / layer height
material ~ choice:PLA,PETG,ABS,nylon,TPU ~ what do we print with / which filament is in / material
infill ~ pct ~ how full are the parts / infill
print speed ~ i10-300 ~ how fast does {s} print / speed of {s}
paper ~ choice:A4,A3,letter,A5 ~ which paper is in {s} / paper size
duplex ~ bool ~ does {s} print on both sides / is duplex on
"""

PLACES = "workshop, cellar, room 12, lab 3, kitchen, attic, hall B, corridor, office 4, garage, room 0.17, tower, annex, barn".split(
    ", "
)


def parsed(text):
    """{section: (names, [(key, kind, questions)])}."""
    found = {}
    for block in text.strip().split("\n\n"):
        head, *lines = block.split("\n")
        title, names = re.fullmatch(r"\[(\w+): (.*)\]", head).groups()
        facts = [tuple(line.split(" ~ ")) for line in lines]
        found[title] = (names.split(", "), [(k, kind, asked.split(" / ")) for k, kind, asked in facts])
    return found


SECTIONS = parsed(TEXT)
