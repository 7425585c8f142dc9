require_relative "kinds"

# Serves as the kind of app that KIND names.
serve = Kinds.method(ENV.fetch("KIND"))

run lambda { |env|
  status = serve.call(env["PATH_INFO"])
  [status, { "Content-Type" => "text/plain" }, ["#{status}\n"]]
}
