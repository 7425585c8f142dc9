require "json"
require "sinatra/base"

# Does nothing, so that what is measured is the server and the framework. It obeys any RACK_ENV:
# what Sinatra does more in development is one of the things to be seen.
class Noop < Sinatra::Base
  get "/" do
    content_type :json
    { ok: true }.to_json
  end
end
