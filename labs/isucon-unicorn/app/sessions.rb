require "rack/session/abstract/id"
require_relative "connections"

# Sessions in memcached: each is read when a request first asks for it, and written when the request
# is done.
class Sessions < Rack::Session::Abstract::PersistedSecure
  SECONDS = 3600

  def find_session(_request, id)
    data = id && Connections.memcached.get(id.private_id)
    data ? [id, data] : [unused_id, {}]
  end

  def write_session(_request, id, data, _options)
    Connections.memcached.set(id.private_id, data, SECONDS)
    id
  end

  def delete_session(_request, id, options)
    Connections.memcached.delete(id.private_id)
    unused_id unless options[:drop]
  end

  private

  def unused_id
    loop do
      id = generate_sid
      return id if Connections.memcached.get(id.private_id).nil?
    end
  end
end
