/** Written by hand for this bench; free to use under the license of the project. */
export interface Paraphrase {
  question: string;
  /** Answers the question in other words. */
  answer: string;
  /** About the same thing, but no answer. */
  near: string;
  /** Share words with the question and are about something else. */
  distractors: string[];
}

export const PARAPHRASES: readonly Paraphrase[] = [
  {
    question: "How do I get back into my account if I forgot my password?",
    answer: "Follow the link on the sign-in page that mails you a one-time code, then choose a new secret.",
    near: "A password should have at least twelve characters and not be used twice.",
    distractors: [
      "Never share the password of your account with colleagues, even if they forgot theirs.",
      "Accounts are closed after three years without use; you cannot get back what was in them.",
    ],
  },
  {
    question: "When does the shop open on Sunday?",
    answer: "At weekends our doors are unlocked from ten in the morning.",
    near: "Late shopping until ten in the evening is offered on the first Friday of each month.",
    distractors: [
      "The shop sells fresh bread, except on Sunday when the bakery rests.",
      "Open the parcel in front of the courier, who also delivers on Sunday.",
    ],
  },
  {
    question: "My laptop gets hot and loud",
    answer: "A clogged fan makes the machine warm and noisy; blow the dust out of the vents.",
    near: "A notebook battery lasts longer when it is not kept fully charged all the time.",
    distractors: [
      "A hot drink spilled over a laptop should be wiped off at once.",
      "Loud music from the laptop can be turned down with the keys in the top row.",
    ],
  },
  {
    question: "Which medicine helps against hay fever?",
    answer: "Antihistamines relieve sneezing and itching eyes when pollen is in the air.",
    near: "Keep a child with a cold at home until the temperature has been normal for a day.",
    distractors: [
      "A fever above forty degrees needs medicine and a doctor.",
      "Hay should be dry before it is stored, or it helps mould to grow.",
    ],
  },
  {
    question: "Can I bring my dog on the train?",
    answer:
      "Pets travel free of charge if they fit into a carrier; larger animals need a child's ticket and a muzzle.",
    near: "Bicycles may be taken on board outside the rush hour with a day ticket of their own.",
    distractors: [
      "You can train your dog to bring the newspaper.",
      "The train was late because a dog ran across the track.",
    ],
  },
  {
    question: "What is the capital of Australia?",
    answer: "Canberra, halfway between Sydney and Melbourne, has been the seat of government since 1927.",
    near: "New Zealand lies some two thousand kilometres to the east across the Tasman Sea.",
    distractors: [
      "Australia raised capital for its new railways by selling bonds.",
      "Sydney is the largest city of Australia and its most visited one.",
    ],
  },
  {
    question: "How long do I boil an egg so that the yolk stays soft?",
    answer: "Five minutes in bubbling water leaves the middle runny.",
    near: "Fresh hens keep for about a month in the fridge and sink in a glass of water while they are good.",
    distractors: [
      "A soft cloth keeps eggs from cracking on long journeys.",
      "Boil the kettle, and stay near it so that it does not boil dry.",
    ],
  },
  {
    question: "the bread did not rise",
    answer: "Dough that stays flat usually had yeast that was too old or water that was too hot.",
    near: "Rye loaves are baked hot at first and then for an hour at a falling temperature.",
    distractors: [
      "The price of bread did rise again this spring.",
      "Bread that did not sell by evening is given away.",
    ],
  },
  {
    question: "Who invented the telephone?",
    answer: "Alexander Graham Bell was granted the first patent for sending speech over a wire in 1876.",
    near: "Radio waves carried a voice across the Atlantic for the first time in 1915.",
    distractors: [
      "The inventor's telephone number is on the back of the manual.",
      "Who answers the telephone should say the name of the company.",
    ],
  },
  {
    question: "reduce the size of a docker image",
    answer:
      "Use a slim base, build in stages and copy only the finished artefacts into the last container layer.",
    near: "Containers of one application share a network and reach each other by the name of their service.",
    distractors: [
      "Docker images are listed with their size by one command.",
      "Reduce the size of an image in the editor before you print it.",
    ],
  },
  {
    question: "How can I undo my last commit?",
    answer: "Reset the branch to the previous revision softly, and your changes stay in the working tree.",
    near: "Name branches after the ticket they solve and merge them once the review is done.",
    distractors: [
      "The last commit to the project was made by a robot.",
      "Commit yourself to exercise, and you can undo years of sitting.",
    ],
  },
  {
    question: "why is the sky blue",
    answer: "Air scatters short wavelengths of sunlight more than long ones.",
    near: "Clouds look white because their drops reflect all colours alike.",
    distractors: [
      "The painter gave the sky a deep blue because he liked it.",
      "Blue Sky is the name of a holiday camp by the lake.",
    ],
  },
  {
    question: "Do I need a visa for Japan?",
    answer:
      "Citizens of most European countries may stay in Tokyo and elsewhere on the islands for ninety days with just a passport.",
    near: "Yen in cash are still needed on country buses and in small inns.",
    distractors: [
      "A Visa card is accepted in most shops of Japan.",
      "Japan needs engineers, and pays them well.",
    ],
  },
  {
    question: "the app crashes when I upload a photo",
    answer: "Pictures above twenty megabytes made the program close without a word; version 4.2 fixes this.",
    near: "Albums can be shared with friends by a link that ends after a week.",
    distractors: [
      "Upload a photo of your receipt to the app to be paid back.",
      "A photo of the car crash was shown in the app of the newspaper.",
    ],
  },
  {
    question: "How much does shipping cost?",
    answer: "Delivery is free above fifty euros; below that we charge four ninety.",
    near: "Parcels can be sent back within thirty days with the label from the box.",
    distractors: [
      "The shipping company ordered three new vessels, whose cost was not told.",
      "How much a parcel weighs is printed on the label.",
    ],
  },
  {
    question: "What should I feed a hedgehog in my garden?",
    answer: "Put out cat food or scrambled egg and a dish of water for the spiny visitor, never milk.",
    near: "Squirrels bury nuts in autumn and find about half of them again.",
    distractors: [
      "A garden needs feeding in spring, with compost or horn meal.",
      "Hedges in the garden should not be cut while birds nest in them.",
    ],
  },
  {
    question: "How do I remove red wine from a carpet?",
    answer: "Cover the stain with salt at once, let it soak, then rinse the rug with cold water.",
    near: "Ink on a shirt comes out with milk or spirit before it is washed.",
    distractors: [
      "Red carpets are rolled out for the wine tasting.",
      "Remove the cork, and let the red wine breathe for an hour.",
    ],
  },
  {
    question: "increase the memory limit of node",
    answer: "Start the runtime with a larger max-old-space-size, given in megabytes.",
    near: "Worker threads share no variables with the main program, only messages.",
    distractors: [
      "A node of the cluster was taken out because its memory was faulty.",
      "The limit of human memory is about seven things at once.",
    ],
  },
  {
    question: "Is it safe to drink tap water in Rome?",
    answer: "The fountains and faucets of the Italian capital give clean water that anyone can have.",
    near: "The trams of the Eternal City run until midnight, the underground until half past eleven.",
    distractors: [
      "Tap twice on the map of Rome to see where to drink coffee.",
      "It is not safe to swim in the river that runs through Rome.",
    ],
  },
  {
    question: "cancel my subscription",
    answer: "Under settings, billing, choose end plan; you keep access until the paid month is over.",
    near: "Invoices for the past year can be downloaded as PDF files.",
    distractors: [
      "The concert was cancelled; subscriptions stay valid.",
      "A subscription costs nine euros and can be given as a present.",
    ],
  },
  {
    question: "When were the pyramids built?",
    answer: "The great tombs at Giza were raised some four and a half thousand years ago.",
    near: "The Sphinx has the body of a lion and lost its nose in the Middle Ages.",
    distractors: [
      "The hotel was built in the shape of a pyramid.",
      "Pyramid schemes were made illegal when many lost their savings.",
    ],
  },
  {
    question: "Why do cats purr?",
    answer: "The humming sound calms the animal and its kittens, and may help bones to heal.",
    near: "Dogs wag their tails to the right for people they know.",
    distractors: [
      "Why cats were holy in Egypt is told in the museum.",
      "Cats should be vaccinated once a year.",
    ],
  },
  {
    question: "How do I tie a tie?",
    answer:
      "Cross the broad end over the narrow one, pass it behind, up through the neck loop and down the front knot.",
    near: "A white shirt goes with every suit, a striped one asks for plain colours.",
    distractors: [
      "The match ended in a tie after extra time.",
      "How a tie is washed is written on its label.",
    ],
  },
  {
    question: "fix a flat bicycle tyre",
    answer:
      "Lift the tube out, find the hole under water, roughen the rubber, glue a patch on and pump it up.",
    near: "Oil the chain every three hundred kilometres and after each ride in the rain.",
    distractors: ["Bicycle parking is flat-rate: two euros a day.", "A fixed-gear bicycle has no freewheel."],
  },
  {
    question: "What causes the tides?",
    answer: "The pull of the moon, and less so of the sun, makes the sea rise and fall twice a day.",
    near: "Waves are made by wind, and the longer it blows the higher they get.",
    distractors: [
      "The tide of opinion turned; what caused it is unclear.",
      "Causes of coastal erosion are storms and building.",
    ],
  },
  {
    question: "set up two-factor authentication",
    answer:
      "Scan the square code with an authenticator app; afterwards every login asks for six digits as well.",
    near: "Sessions end after thirty minutes without a click.",
    distractors: [
      "Two factors set the price of a house: place and size.",
      "Set up the tent on even ground, two people are enough.",
    ],
  },
  {
    question: "How do vaccines work?",
    answer:
      "They show the immune system a harmless piece of a germ, so that it is ready when the real one comes.",
    near: "Antibiotics act against bacteria and do nothing against a virus.",
    distractors: [
      "Vaccines must be kept cold on the way to work.",
      "How to find work as a nurse is told on this page.",
    ],
  },
  {
    question: "My tomato leaves turn yellow",
    answer: "Pale foliage on the lower stems often means that the plant lacks nitrogen or stands too wet.",
    near: "Cucumbers like it warm, and need a string to climb along.",
    distractors: [
      "Yellow tomatoes taste milder than red ones.",
      "Leaves that turn in the wind make a rustling sound.",
    ],
  },
  {
    question: "difference between tcp and udp",
    answer:
      "One delivers every byte in order and resends what was lost; the other fires packets off without looking back.",
    near: "A gateway forwards packets between networks that do not know each other.",
    distractors: [
      "The firewall shows tcp and udp ports in one list.",
      "The difference between two dates is counted in days.",
    ],
  },
  {
    question: "How old is the universe?",
    answer: "About 13.8 billion years have passed since the Big Bang.",
    near: "The nearest star after the sun is a little over four light years away.",
    distractors: [
      "How old you must be to enter the Universe Club is told at the door.",
      "The universe of the novel has its own languages.",
    ],
  },
  {
    question: "convert a string to a number in javascript",
    answer: "Number(text) or parseInt with a radix gives the numeric value; check the outcome for NaN.",
    near: "An array is copied with the spread operator, but only its first level.",
    distractors: [
      "The number of strings on a guitar is six.",
      "JavaScript concatenates a string and a number without complaint.",
    ],
  },
  {
    question: "Where can I park near the stadium?",
    answer:
      "Garages P2 and P5 are five minutes on foot from the arena and stay open until midnight after matches.",
    near: "Season tickets for all home matches go on sale in May.",
    distractors: [
      "The park near the stadium has a playground.",
      "Where you sit in the stadium is printed on the ticket.",
    ],
  },
  {
    question: "I can't sleep at night",
    answer:
      "Keep screens out of the bedroom, get up at the same hour and avoid coffee after noon to beat insomnia.",
    near: "A nap of twenty minutes after lunch makes the afternoon easier.",
    distractors: [
      "The night train has places to sleep for forty euros.",
      "The process can't sleep longer than its timeout at night.",
    ],
  },
  {
    question: "How is cheese made?",
    answer: "Milk is curdled with rennet, the curds are pressed, salted and left to ripen.",
    near: "Butter needs about twenty litres of whole milk for each kilogram.",
    distractors: [
      "Cheese made a poor showing at the market this week.",
      "How cheese is sliced shapes its taste, say the waiters.",
    ],
  },
  {
    question: "What do I do after a car accident?",
    answer:
      "Secure the scene, call help for the injured, take pictures and exchange insurance details with the other driver.",
    near: "New drivers are on probation for two years after the test.",
    distractors: [
      "Do not buy a car that had an accident before.",
      "What the car did after it was sold is recorded.",
    ],
  },
  {
    question: "the printer prints blank pages",
    answer:
      "Empty sheets come out when the nozzles are dried up; run the cleaning routine or change the cartridge.",
    near: "Photo paper goes in with the shiny side up, one sheet at a time.",
    distractors: [
      "Blank pages at the end of the book are for notes.",
      "The printer prints forty pages a minute.",
    ],
  },
  {
    question: "How many players are in a volleyball team?",
    answer: "Six stand on each side of the net, with up to six more on the bench.",
    near: "Beach handball is played on sand by four against four.",
    distractors: [
      "Volleyball players are often tall.",
      "How many teams play in the league changes every year.",
    ],
  },
  {
    question: "make my website load faster",
    answer: "Compress pictures, cache static files and send less script to the browser.",
    near: "A cookie notice must let visitors refuse as easily as agree.",
    distractors: ["A faster car carries less load.", "Make sure that the website names its owner."],
  },
  {
    question: "Why did the Roman Empire fall?",
    answer:
      "Civil wars, empty treasuries and invading peoples brought the western realm of the Caesars down.",
    near: "Hadrian had a wall built across the north of Britain.",
    distractors: [
      "A Roman coin was found where a tree did fall.",
      "The Empire State Building is lit in the evening.",
    ],
  },
  {
    question: "How do I clean my glasses?",
    answer: "Rinse the lenses under lukewarm water with a drop of dish soap and dry them with a soft cloth.",
    near: "Contact lenses for a month are taken out every night.",
    distractors: [
      "Clean wine glasses stand in the upper cupboard.",
      "How glasses are fitted is the optician's trade.",
    ],
  },
  {
    question: "delete a file with a dash at the start of its name",
    answer: "Write two hyphens before it, or ./ in front, so that rm does not take it for an option.",
    near: "The find command lists everything below a folder that fits a pattern.",
    distractors: [
      "The name of the file is deleted from the list at the start.",
      "A 100 m dash is won at the start, runners say.",
    ],
  },
  {
    question: "What is inflation?",
    answer: "Money buys less over time as prices in general go up.",
    near: "A central bank lends to other banks and sets the rate they pay.",
    distractors: ["Check the inflation of your tyres once a month.", "What inflates the balloon is helium."],
  },
  {
    question: "Can plants hear?",
    answer: "Some flowers sweeten their nectar within minutes of sensing the vibration of a bee's wings.",
    near: "Trees warn each other of insects through threads of fungus in the soil.",
    distractors: ["The power plant can be heard from afar.", "Hear the talk about house plants on Thursday."],
  },
  {
    question: "Who painted the ceiling of the Sistine Chapel?",
    answer: "Michelangelo lay on a scaffold for four years to cover the vault with frescoes.",
    near: "Raphael painted the School of Athens for the rooms of the same pope.",
    distractors: [
      "The chapel's ceiling was painted white last summer.",
      "Who wants to visit the Sistine Chapel should book ahead.",
    ],
  },
];
