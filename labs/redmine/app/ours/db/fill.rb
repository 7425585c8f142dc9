# Fills the database with the same rows each time: a public project, 20 people, 400 issues with
# three notes each.
PEOPLE = 20
ISSUES = 400
NOTES = 3
WORDS = %w[the export of this page is slow when many people ask for it and nobody knows why since
           last week a button does nothing after the second click on some machines].freeze
RANDOM = Random.new(20_261_128)

def sentences(count)
  Array.new(count) { Array.new(12) { WORDS[RANDOM.rand(WORDS.size)] }.join(" ").capitalize }.join(". ")
end

def person(index)
  person = User.new(firstname: "Person", lastname: index.to_s, mail: "person#{index}@example.com")
  person.login = "person#{index}"
  person.password = person.password_confirmation = "not a secret #{index}"
  person.save!
  person
end

def issue(project, people, index)
  issue = Issue.new(project: project, tracker: project.trackers[index % project.trackers.size])
  issue.author = people[index % PEOPLE]
  issue.assigned_to = nil
  issue.subject = "#{sentences(1)[0, 60]} #{index}"
  issue.description = "h2. Seen\n\n#{sentences(6)}\n\n* #{sentences(1)}\n* #{sentences(1)}"
  issue.priority = IssuePriority.active.to_a[index % 3]
  issue.status = IssueStatus.sorted.to_a[index % 3]
  issue.save!
  NOTES.times do |note|
    Journal.create!(journalized: issue, user: people[(index + note) % PEOPLE], notes: sentences(3))
  end
end

ActionMailer::Base.perform_deliveries = false
Setting.notified_events = []
unless Project.exists?(identifier: "demo")
  project = Project.create!(name: "Demo", identifier: "demo", is_public: true,
                            enabled_module_names: Setting.default_projects_modules,
                            trackers: Tracker.all.to_a)
  people = Array.new(PEOPLE) { |index| person(index) }
  Project.transaction { ISSUES.times { |index| issue(project, people, index) } }
end
